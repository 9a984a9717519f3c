import MigrationDiscovery
import MigrationSystem

/// Lends a correspondent the links of this device, on a thread that waits for one poll and nothing else.
///
/// A flood costs little: after each batch the sockets rest, and what does not fit into the kernel's buffers meanwhile is
/// lost, the flood for the most part.
struct LinkLoop<Party: Correspondent>: ~Copyable {
  /// How long sockets rest after packets were taken from them.
  private static var rest: Duration { .milliseconds(10) }
  /// How long changes of interfaces are collected: they come in swarms.
  private static var collecting: Duration { .milliseconds(100) }
  /// After how long a link that could not be opened is tried again, and the interfaces are looked at where changes are not
  /// heard of.
  private static var retrying: Duration { .seconds(5) }

  /// How long networks may take to come up before their absence is told: a cable that was plugged in, a machine that wakes.
  private static var comingUp: Duration { .seconds(1) }

  private var party: Party
  private let stop: StopSignal
  private let wakeup: Wakeup
  private let tell: @Sendable (Party.News) -> Void
  private let trouble: @Sendable (FindingTrouble) -> Void

  private var poller: Poller
  private var links: OpenLinks
  private let changes: InterfaceChanges?
  private var lookAt: BootInstant? = .now()
  private var restUntil: BootInstant?
  private var isStopping = false
  private var isOver = false
  private var hasToldTrouble = false
  private var hasWaitedForNetworks = false

  /// Makes everything that the loop needs besides links.
  init(
    _ party: Party, port: UInt16, reaching reach: Reach, stop: StopSignal, wakeup: Wakeup, tell: @escaping @Sendable (Party.News) -> Void,
    trouble: @escaping @Sendable (FindingTrouble) -> Void
  ) throws(SystemError) {
    poller = try Poller(ofLoop: true)
    self.party = party
    self.stop = stop
    self.wakeup = wakeup
    self.tell = tell
    self.trouble = trouble
    links = OpenLinks(port: port, reaching: reach)
    changes = try? InterfaceChanges()
  }

  /// Works until the end is wanted and told.
  mutating func run() throws(SystemError) {
    while !isOver {
      if stop.isSet, !isStopping {
        isStopping = true
        handle(.stop)
        continue
      }
      if let lookAt, lookAt <= .now() {
        look()
        continue
      }
      if let moment = party.nextMoment, moment <= BootInstant.now().seconds {
        handle(.timePassed)
        // The sockets have their turn, whatever moments follow.
      }
      try turn()
    }
  }

  private mutating func turn() throws(SystemError) {
    if let restUntil, restUntil <= .now() { self.restUntil = nil }
    let open = restUntil == nil ? links.interests : []
    var interests = [Poller.Interest(wakeup.raw, .readable)]
    if let raw = changes?.raw { interests.append(Poller.Interest(raw, .readable)) }
    let first = interests.count
    interests += open.map { Poller.Interest($0.raw, .readable) }
    let moments = [party.nextMoment.map { BootInstant(seconds: $0) }, lookAt, restUntil]
    guard try poller.wait(&interests, until: moments.compactMap { $0 }.min()) else { return }

    wakeup.clear()
    if changes?.take() == true { look(after: Self.collecting) }
    for (place, interest) in zip(open, interests[first...]) where !interest.ready.isEmpty { receive(place.link) }
  }

  private mutating func receive(_ link: Link) {
    var packets: [([UInt8], Source)] = []
    do throws(SystemError) {
      if try links.receive(link, { packets.append(($0, $1)) }) > 0 { restUntil = .now() + Self.rest }
    } catch {
      links.close(link, error)
      look(after: Self.retrying)
      handle(.links(links.links))
    }
    for (bytes, source) in packets { handle(.packet(bytes, link, from: source)) }
  }

  /// The interfaces are to be looked at, after so long at the latest.
  private mutating func look(after time: Duration) {
    let moment = BootInstant.now() + time
    lookAt = lookAt.map { min($0, moment) } ?? moment
  }

  private mutating func look() {
    lookAt = nil
    do throws(SystemError) {
      links.update(try NetworkInterface.all())
    } catch {
      links.lose(error)
    }
    if links.failure != nil || changes == nil { look(after: Self.retrying) }
    handle(.links(links.links))
    guard links.links.isEmpty, !hasToldTrouble else { return }
    if links.failure == nil, !hasWaitedForNetworks {
      hasWaitedForNetworks = true
      return look(after: Self.comingUp)
    }
    hasToldTrouble = true
    trouble(links.failure.map(FindingTrouble.refused) ?? .noNetwork)
  }

  private mutating func handle(_ event: LinkEvent) {
    for action in party.handle(event, now: BootInstant.now().seconds) {
      switch action {
      case .send(let bytes, let link, let source): links.send(bytes, link, unicastTo: source)
      case .tell(let news): tell(news)
      case .over: isOver = true
      }
    }
  }
}
