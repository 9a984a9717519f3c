import MigrationDiscovery

/// What happens at the links.
enum LinkEvent: Sendable {
  /// These are the links now.
  case links([Link: [IPAddress]])
  case packet([UInt8], Link, from: Source)
  /// The moment has come that was asked for.
  case timePassed
  /// The owner wants an end.
  case stop
}

/// One thing to do.
enum LinkAction<News: Sendable>: Sendable {
  /// Send a packet: to the group, or to one address.
  case send([UInt8], Link, unicastTo: Source?)
  case tell(News)
  /// Nothing more is to be done.
  case over
}

/// A value that decides what is sent and told; `LinkLoop` lends it sockets and a clock.
protocol Correspondent: Sendable {
  associatedtype News: Sendable
  mutating func handle(_ event: LinkEvent, now: Double) -> [LinkAction<News>]
  /// When it wants to hear of the time; nil for not before something happens.
  var nextMoment: Double? { get }
}

extension Responder: Correspondent {
  mutating func handle(_ event: LinkEvent, now: Double) -> [LinkAction<Announcement.News>] {
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

extension Browser: Correspondent {
  mutating func handle(_ event: LinkEvent, now: Double) -> [LinkAction<[Found]>] {
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
