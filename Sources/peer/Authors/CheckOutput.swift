import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// The output of `peer app check`, line by line; any thread may write to it.
final class CheckOutput: Sendable {
  private let json: Bool
  private let isUnwritten = Mutex(false)

  init(json: Bool) { self.json = json }

  func say(_ finding: CheckFinding) { write(json ? finding.line : finding.text) }

  /// Reports the failure, and returns the program's exit code.
  func fail(_ failure: TransferFailure) -> Int32 {
    var report: any Report = json ? JSONReport() : HumanReport(.sender, on: .log)
    write(report.fail(failure))
    return ExitCode.of(failure)
  }

  /// The program's exit code if all output could be written.
  var end: Int32 {
    guard isUnwritten.withLock({ $0 }), !StandardStream.output.hasLostReader else { return ExitCode.done }
    StandardStream.error.write(Answer.unwritten.text)
    return ExitCode.of(Answer.unwritten)
  }

  private func write(_ rendering: Rendering) {
    isUnwritten.withLock { isUnwritten in
      StandardStream.error.write(rendering.standardError)
      if !StandardStream.output.write(rendering.standardOutput) { isUnwritten = true }
    }
  }
}
