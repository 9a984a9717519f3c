import MigrationEngine
import MigrationTransfer
import MigrationWire

/// The report of a receiver that serves several transfers at a time: each transfer has a report of its
/// own, and one is about the run.
struct SeveralReports: Report {
  private struct Running {
    var report: any Report
    /// What is written in front of its lines, for a person.
    var name: String
  }

  private var general: any Report
  /// The report of a transfer before its first event.
  private let fresh: any Report
  private let areNamed: Bool
  private var running: [TransferID: Running] = [:]

  /// Begins with the report of a receiver; `areNamed` says whether the other device's name, or the
  /// first digits of the transfer, are in front of each line about a transfer.
  init(_ report: any Report, areNamed: Bool) {
    (general, fresh, self.areNamed) = (report, report, areNamed)
  }

  mutating func handle(_ event: TransferEvent, at moment: Moment) -> Rendering {
    guard case .of(let transfer, let event) = event else { return general.handle(event, at: moment) }
    var one = running[transfer] ?? Running(report: fresh, name: String(transfer.hexadecimal.prefix(8)))
    switch event {
    case .paired(let label, _, _):
      one.name = VisibleText.of(label)
      // This device waits for the first one no longer.
      _ = general.handle(event, at: moment)
    default: break
    }
    let rendering = named(one.report.handle(.of(transfer, event), at: moment), one.name)
    running[transfer] = one
    switch event {
    case .done, .failed: running[transfer] = nil
    default: break
    }
    return rendering
  }

  mutating func tick(at moment: Moment) -> Rendering {
    var rendering = general.tick(at: moment)
    for transfer in running.keys.sorted() {
      guard var one = running[transfer] else { continue }
      let text = named(one.report.tick(at: moment), one.name)
      running[transfer] = one
      rendering.standardError += text.standardError
      rendering.standardOutput += text.standardOutput
    }
    return rendering
  }

  mutating func missed(_ count: UInt64) -> Rendering { general.missed(count) }

  mutating func clear() -> Rendering { general.clear() }

  mutating func fail(_ failure: TransferFailure) -> Rendering { general.fail(failure) }

  private func named(_ rendering: Rendering, _ name: String) -> Rendering {
    guard areNamed else { return rendering }
    func lines(_ text: String) -> String {
      text.split(separator: "\n").map { "[\(name)] \($0)\n" }.joined()
    }
    return Rendering(
      standardError: lines(rendering.standardError), standardOutput: lines(rendering.standardOutput))
  }
}
