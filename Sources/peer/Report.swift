import MigrationEngine
import MigrationTransfer

/// The end of the transfer that this device is.
enum Role: Equatable, Sendable {
  case sender
  case receiver
}

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

  /// Reports the failure of the transfer, as the last text.
  mutating func fail(_ failure: TransferFailure) -> Rendering
}

extension TransferFailure {
  /// The failure for a person.
  var text: String {
    "peer: error: \(message)\n" + (hint.map { "peer: hint: \($0)\n" } ?? "")
  }
}
