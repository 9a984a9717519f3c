import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// The output of `peer app check`, line by line; any thread may write to it.
final class CheckOutput: Sendable {
  private let json: Bool
  /// The streams that took no more, and the descriptor that becomes readable when the user wants
  /// the program to end.
  private let state = Mutex((lost: Set<StandardStream>(), stop: CInt(-1)))

  init(json: Bool) { self.json = json }

  /// From now on, no reader keeps the program from ending.
  func heed(_ interruption: Interruption) { state.withLock { $0.stop = interruption.raw } }

  func say(_ finding: CheckFinding) { write(json ? finding.line : finding.text) }

  /// Reports the failure, and returns the program's exit code.
  func fail(_ failure: TransferFailure) -> Int32 {
    var report: any Report = json ? JSONReport() : HumanReport(.sender, on: .log)
    write(report.fail(failure))
    return ExitCode.of(failure)
  }

  /// The program's exit code if all output could be written.
  var end: Int32 {
    let isUnwritten = state.withLock { $0.lost.contains(.output) }
    guard isUnwritten, !StandardStream.output.hasLostReader else { return ExitCode.done }
    StandardStream.error.write(Answer.unwritten.text)
    return ExitCode.of(Answer.unwritten)
  }

  private func write(_ rendering: Rendering) {
    state.withLock { state in
      for (stream, text) in [(StandardStream.error, rendering.standardError), (.output, rendering.standardOutput)] {
        guard !text.isEmpty, !state.lost.contains(stream) else { continue }
        let isWritten = StandardStream.write(text.utf8.span, to: stream.rawValue, until: state.stop)
        if !isWritten { state.lost.insert(stream) }
      }
    }
  }
}
