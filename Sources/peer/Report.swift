import MigrationEngine
import MigrationTransfer

/// Which end of the transfer this device is.
enum Role: Equatable, Sendable {
  case sender
  case receiver
}

/// What a report needs to know of the moment in which something happens.
struct Moment: Equatable, Sendable {
  /// Seconds on a clock that only goes forward.
  var elapsed: Double
  /// Seconds since 1970.
  var wall: Int64
  /// How wide the terminal is.
  var columns = 80
}

/// What is to be written: first to standard error, then to standard output.
struct Rendering: Equatable, Sendable {
  var standardError = ""
  var standardOutput = ""
}

/// Turns what happens into text. Has no clock and no terminal, so that it can be tested as a function.
protocol Report: Sendable {
  /// Something has happened.
  mutating func handle(_ event: TransferEvent, at moment: Moment) -> Rendering

  /// Nothing has happened for a while.
  mutating func tick(at moment: Moment) -> Rendering

  /// So many messages were left out, since the reader did not take those before them.
  mutating func missed(_ count: UInt64) -> Rendering

  /// Takes away what will be drawn over, because somebody else writes now.
  mutating func clear() -> Rendering

  /// The transfer has failed, and this is the last that is written.
  mutating func fail(_ failure: TransferFailure) -> Rendering
}

extension TransferFailure {
  /// The failure as it is told to a person.
  var text: String {
    "peer: error: \(message)\n" + (hint.map { "peer: hint: \($0)\n" } ?? "")
  }
}
