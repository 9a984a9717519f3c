package import MigrationWire

/// Decides everything that a sender does: how it reaches the receiver, what becomes of a session, how many streams there are, when
/// it gives up (Protocol §4 to §9).
///
/// A value: events in, actions out. It knows no clock, no socket, no file and no lock.
package struct SenderEngine: Sendable {
  package struct Settings: Sendable {
    /// What this device is called, and what it can do.
    package var greeting: Greeting
    /// The target, for people.
    package var target: String
    /// How many data streams carry the archive; nil for as many as help.
    package var streams: UInt32?
    /// For how many seconds a lost connection is tried again.
    package var giveUpAfter: Double
    /// Whether the user has asked for compression, so that it matters if there is none.
    package var wantsCompression = false
    /// Whether this device can compress.
    package var canCompress = true

    package init(greeting: Greeting, target: String, streams: UInt32? = nil, giveUpAfter: Double) {
      self.greeting = greeting
      self.target = target
      self.streams = streams
      self.giveUpAfter = giveUpAfter
    }
  }

  private let settings: Settings

  package init(_ settings: Settings) { self.settings = settings }

  /// When something may be different without an event.
  package var nextMoment: Double? { nil }

  /// An event has happened; what is done about it, in this order.
  package mutating func handle(_ event: Event, now: Double) -> [Action] { [] }
}
