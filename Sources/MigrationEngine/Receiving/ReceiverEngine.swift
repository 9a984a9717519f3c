package import MigrationWire

/// Decides everything that a receiver does: who may come, what becomes of a session, when a transfer is over (Protocol §4 to §9).
///
/// A value: events in, actions out. It knows no clock, no socket, no file and no lock.
package struct ReceiverEngine: Sendable {
  package struct Settings: Sendable {
    /// What this device is called, and what it can do.
    package var greeting: Greeting
    /// For how many seconds a sender that was lost may stay away.
    package var giveUpAfter: Double
    /// Whether the user is asked about a new transfer; else the code that was entered is consent enough.
    package var asksConsent = false
    /// Whether the user can be asked to begin another wait when too many wrong codes were entered; else that ends the run.
    package var asksRestart = false
    /// How many seconds pass for codes and guesses while one passes for everything else: tests hurry them.
    package var codeSpeed = 1.0

    package init(greeting: Greeting, giveUpAfter: Double) {
      self.greeting = greeting
      self.giveUpAfter = giveUpAfter
    }
  }

  /// How many bytes may be under way in a session, and how many data streams may be joined.
  package static let window: UInt64 = 32 << 20
  package static let streams: UInt16 = 16

  private let settings: Settings

  package init(_ settings: Settings) { self.settings = settings }

  /// When something may be different without an event.
  package var nextMoment: Double? { nil }

  /// An event has happened; what is done about it, in this order.
  package mutating func handle(_ event: Event, now: Double) -> [Action] { [] }
}
