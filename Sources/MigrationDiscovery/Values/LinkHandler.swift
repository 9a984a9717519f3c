/// A value that decides which packets to send and which news to report: events in, actions out.
/// `LinkLoop` provides sockets and a clock; times are seconds on any clock that runs during sleep.
protocol LinkHandler: Sendable {
  associatedtype News: Sendable
  mutating func handle(_ event: LinkEvent, now: Double) -> [LinkAction<News>]
  /// When `timePassed` is due, which may be in the past; nil if it only waits for events.
  var nextMoment: Double? { get }
}

/// An event at the links.
package enum LinkEvent: Sendable {
  /// The current links, each with the addresses of its interface, of either family.
  case links([Link: [IPAddress]])
  /// A packet has arrived.
  case packet([UInt8], Link, from: Source)
  /// No event came before `nextMoment`.
  case timePassed
  /// The owner requests the end.
  case stop
}

/// The action of a handler.
package enum LinkAction<News: Sendable>: Sendable {
  /// Sends a packet from port 5353: to the group, or to one asker.
  case send([UInt8], Link, unicastTo: Source? = nil)
  /// Reports news to the owner.
  case tell(News)
  /// No action follows.
  case over
}

extension LinkAction: Equatable where News: Equatable {}
