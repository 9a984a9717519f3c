import MigrationApps
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// The moment of an event, as a report needs it.
struct Moment: Equatable, Sendable {
  /// Seconds on a monotonic clock.
  var elapsed: Double
  /// Seconds since 1970.
  var wall: Int64
  /// The width of the terminal.
  var columns = 80
}

/// A text to write: first on standard error, then on standard output.
struct Rendering: Equatable, Sendable {
  var standardError = ""
  var standardOutput = ""
}

/// Turns events into text. It has no clock and no terminal, so that it can be tested as a function.
protocol Report: Sendable {
  /// Handles an event.
  mutating func handle(_ event: TransferEvent, at moment: Moment) -> Rendering

  /// Handles a time without events.
  mutating func tick(at moment: Moment) -> Rendering

  /// Reports that this many messages were left out because the reader was too slow.
  mutating func missed(_ count: UInt64) -> Rendering

  /// Removes the progress line before another writer writes.
  mutating func clear() -> Rendering

  /// Takes the user's next steps, and the items that stay behind, before the end of a transfer.
  mutating func advise(_ steps: [NextStep], leavingOut leftOut: [Omission])

  /// Reports the failure of the transfer, as the last text.
  mutating func fail(_ failure: Failure) -> Rendering
}

extension Report {
  mutating func advise(_ steps: [NextStep], leavingOut leftOut: [Omission]) {}
}

extension Failure {
  /// The failure for a person.
  var text: String {
    "peer: error: \(message)\n" + (hint.map { "peer: hint: \($0)\n" } ?? "")
  }

  /// The same in lines for a terminal. A command at the end of the hint has a line of its own, and is not divided.
  func text(columns: Int) -> String {
    let hint = hint.map { hint in
      guard !hint.hasSuffix("."), let colon = hint.ranges(of: ": ").last else { return (hint, "") }
      return (String(hint[..<colon.lowerBound]) + ":", "  \(hint[colon.upperBound...])\n")
    }
    func lines(_ text: String) -> String {
      TextWrapping.lines(TextWrapping.words(text), columns: columns - 1).map { $0 + "\n" }.joined()
    }
    return lines("peer: error: \(message)") + (hint.map { lines("peer: hint: \($0.0)") + $0.1 } ?? "")
  }

  /// What a person reads who has mistyped an answer, and is asked again.
  var correction: String { "\(message). \(hint ?? "")" }

  /// The failure of a transfer that another run resumes, with that as its hint if a signal is the
  /// cause.
  var resumable: Failure {
    guard kind == .interrupted || kind == .terminated, hint == nil else { return self }
    return hinting(DataHint.goOn.text)
  }
}

extension Failure.Kind {
  /// The kind's name in JSON.
  var name: String { "\(self)" }
}

/// The answer of a command that does one thing at once: a text or a failure.
enum Answer {
  /// Writes the answer, and returns the program's exit code. An answer that could not be written is
  /// a failure too, except where the reader wants no more of it, as head(1).
  static func give(json: Bool, _ body: (_ json: Bool) throws(Failure) -> Rendering) -> Int32 {
    let (text, code): (Rendering, Int32)
    do {
      (text, code) = (try body(json), ExitCode.done)
    } catch {
      (text, code) = (rendering(of: error, json: json), ExitCode.of(error))
    }
    return write(text, code)
  }

  /// The text of a failure.
  static func rendering(of failure: Failure, json: Bool) -> Rendering {
    var report: any Report = json ? JSONReport.ofRun() : HumanReport(.sender, on: .log)
    return report.fail(failure)
  }

  /// Writes the last text, and returns the program's exit code: the given one, unless the text could
  /// not be written.
  static func write(_ text: Rendering, _ code: Int32) -> Int32 {
    StandardStream.error.write(text.standardError)
    if StandardStream.output.write(text.standardOutput) || StandardStream.output.hasLostReader { return code }
    StandardStream.error.write(unwritten.text)
    return code == ExitCode.done ? ExitCode.of(unwritten) : code
  }

  /// The failure of a command whose output could not be written.
  static let unwritten = Failure(
    .failed, "standard output could not be written", hint: "Check whether the disk that it is written to is full.")
}

/// The report of a receiver that serves several transfers at a time: each transfer has a report of its
/// own, and one is about the run.
struct SeveralReports: Report {
  private struct Running {
    var report: any Report
    /// The text in front of its lines, for a person.
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

  mutating func fail(_ failure: Failure) -> Rendering { general.fail(failure) }

  private func named(_ rendering: Rendering, _ name: String) -> Rendering {
    guard areNamed else { return rendering }
    func lines(_ text: String) -> String {
      text.split(separator: "\n").map { "[\(name)] \($0)\n" }.joined()
    }
    return Rendering(
      standardError: lines(rendering.standardError), standardOutput: lines(rendering.standardOutput))
  }
}
