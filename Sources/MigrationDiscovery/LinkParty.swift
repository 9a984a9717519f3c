/// An event at the links.
enum LinkEvent: Sendable {
  /// The current links.
  case links([Link: [IPAddress]])
  case packet([UInt8], Link, from: Source)
  /// The requested moment has come.
  case timePassed
  /// The owner requests the end.
  case stop
}

/// An action.
enum LinkAction<News: Sendable>: Sendable {
  /// Sends a packet: to the group, or to one address.
  case send([UInt8], Link, unicastTo: Source?)
  case tell(News)
  /// No action follows.
  case over
}

/// A value that decides which packets to send and which news to report; `LinkLoop` provides sockets
/// and a clock.
protocol LinkParty: Sendable {
  associatedtype News: Sendable
  mutating func take(_ event: LinkEvent, now: Double) -> [LinkAction<News>]
  /// The next time at which it needs `timePassed`; nil if it only waits for events.
  var nextMoment: Double? { get }
}

extension Responder: LinkParty {
  mutating func take(_ event: LinkEvent, now: Double) -> [LinkAction<Announcement.News>] {
    let actions: [Action] =
      switch event {
      case .links(let links): handle(.links(links), now: now)
      case .packet(let bytes, let link, let source): handle(.packet(bytes, link, from: source), now: now)
      case .timePassed: handle(.timePassed, now: now)
      case .stop: handle(.withdraw, now: now)
      }
    return actions.map { action in
      switch action {
      case .send(let bytes, let link, let source): .send(bytes, link, unicastTo: source)
      case .established(let name): .tell(.established(name: name))
      case .over: .over
      }
    }
  }
}

extension Browser: LinkParty {
  mutating func take(_ event: LinkEvent, now: Double) -> [LinkAction<[Found]>] {
    let actions: [Action]
    switch event {
    case .links(let links): actions = handle(.links(links), now: now)
    case .packet(let bytes, let link, let source): actions = handle(.packet(bytes, link, from: source), now: now)
    case .timePassed: actions = handle(.timePassed, now: now)
    case .stop: return [.over]
    }
    return actions.map { action in
      switch action {
      case .send(let bytes, let link): .send(bytes, link, unicastTo: nil)
      case .changed(let found): .tell(found)
      }
    }
  }
}
