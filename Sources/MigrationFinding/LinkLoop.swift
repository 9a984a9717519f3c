import MigrationDiscovery
import MigrationSystem

/// Lends a correspondent the links of this device, on a thread that waits for one poll and nothing else.
///
/// A flood costs little: after each batch the sockets rest, and what does not fit into the kernel's buffers meanwhile is
/// lost, the flood for the most part.
struct LinkLoop<Party: Correspondent>: ~Copyable {
  /// How long sockets rest at least after packets were taken from them; and so many times as long as the packets took, so
  /// that no flood takes more than a tenth of a processor.
  private static var rest: Duration { .milliseconds(10) }
  private static var restShare: Int { 9 }
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
  private let trouble: @Sendable (FindingTrouble?) -> Void

  private var poller: Poller
  private var links: OpenLinks
  private let changes: InterfaceChanges?
  private var lookAt: BootInstant? = .now()
  private var restUntil: BootInstant?
  /// Interfaces that carried no packets for a while since the last look.
  private var interrupted: Set<UInt32> = []
  private var isStopping = false
  private var isOver = false
  private var hasToldTrouble = false
  private var isInTrouble = false
  private var hasWaitedForNetworks = false

  /// Needs nothing of the system that could be missing; links it opens later. Trouble is told once, and nil when it is over.
  init(
    _ party: Party, _ poller: consuming Poller, port: UInt16, reaching reach: Reach, stop: StopSignal, wakeup: Wakeup,
    tell: @escaping @Sendable (Party.News) -> Void, trouble: @escaping @Sendable (FindingTrouble?) -> Void
  ) {
    self.poller = poller
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
      if heedsStop() { continue }
      if let lookAt, lookAt <= .now() {
        look()
        continue
      }
      // The sockets have their turn, whatever moments follow.
      heedTime()
      try turn()
    }
  }

  /// Begins the end if it is wanted; whether it did.
  private mutating func heedsStop() -> Bool {
    guard stop.isSet, !isStopping else { return false }
    isStopping = true
    handle(.stop)
    return true
  }

  private mutating func heedTime() {
    if let moment = party.nextMoment, moment <= BootInstant.now().seconds { handle(.timePassed) }
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
    if let news = changes?.take(), news.isAny {
      interrupted.formUnion(news.interrupted)
      look(after: Self.collecting)
    }
    let begin = BootInstant.now()
    var isAny = false
    for (place, interest) in zip(open, interests[first...]) where !interest.ready.isEmpty && !isOver {
      if receive(place.link) { isAny = true }
    }
    guard isAny else { return }
    let end = BootInstant.now()
    restUntil = end + max(Self.rest, begin.duration(to: end) * Self.restShare)
  }

  /// Takes a batch of packets; whether there were any. Neither the end nor a moment waits for the whole batch.
  private mutating func receive(_ link: Link) -> Bool {
    var packets: [([UInt8], Source)] = []
    var isAny = false
    do throws(SystemError) {
      isAny = try links.receive(link) { packets.append(($0, $1)) } > 0
    } catch {
      links.close(link, error)
      look(after: Self.retrying)
      handle(.links(links.links))
    }
    for (bytes, source) in packets {
      if heedsStop() || isOver { break }
      heedTime()
      handle(.packet(bytes, link, from: source))
    }
    return isAny
  }

  /// The interfaces are to be looked at, after so long at the latest.
  private mutating func look(after time: Duration) {
    let moment = BootInstant.now() + time
    lookAt = lookAt.map { min($0, moment) } ?? moment
  }

  private mutating func look() {
    lookAt = nil
    do throws(SystemError) {
      let interfaces = try NetworkInterface.all()
      // Behind an interface that was gone for a moment, others may be now.
      if links.close(interrupted) { handle(.links(links.links)) }
      interrupted = []
      links.update(interfaces)
    } catch {
      links.keep(error)
    }
    if links.failure != nil || changes == nil { look(after: Self.retrying) }
    handle(.links(links.links))
    guard links.links.isEmpty || links.choice.isOnlyItself else {
      if isInTrouble { trouble(nil) }
      isInTrouble = false
      return
    }
    guard !hasToldTrouble else { return }
    if links.failure == nil, !hasWaitedForNetworks {
      hasWaitedForNetworks = true
      return look(after: Self.comingUp)
    }
    hasToldTrouble = true
    isInTrouble = true
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
