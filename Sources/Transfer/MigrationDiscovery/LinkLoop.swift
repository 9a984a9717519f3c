package import MigrationSystem

/// Provides its handler with the links of this device, on a thread that waits only in one poll.
///
/// A flood costs little: after each batch the sockets rest, and packets that meanwhile exceed the
/// kernel's buffers are lost, most of them from the flood.
struct LinkLoop<Handler: LinkHandler>: ~Copyable {
  /// The least rest of the sockets after packets were read. The rest also lasts a multiple of the
  /// time for processing the packets, so that a flood takes at most a tenth of a processor.
  private static var rest: Duration { .milliseconds(10) }
  private static var restShare: Int { 9 }
  /// The time for which changes of interfaces are collected, because they come in groups.
  private static var collecting: Duration { .milliseconds(100) }
  /// The time after which a link that could not be opened is tried again, and after which the
  /// interfaces are listed again if the kernel does not report changes.
  private static var retrying: Duration { .seconds(5) }

  /// How long networks may take to come up before their absence is reported: after a cable is
  /// plugged in, or a machine wakes.
  private static var comingUp: Duration { .seconds(1) }

  private var handler: Handler
  private let stop: StopSignal
  private let wakeup: Wakeup
  private let tell: @Sendable (Handler.News) -> Void
  private let trouble: @Sendable (FindingTrouble?) -> Void

  private var poller: Poller
  private var links: OpenLinks
  private let changes: InterfaceChanges?
  private var lookAt: BootInstant? = .now()
  private var restUntil: BootInstant?
  /// Interfaces that were interrupted since the last listing.
  private var interrupted: Set<UInt32> = []
  private var isStopping = false
  private var isOver = false
  private var hasToldTrouble = false
  private var isInTrouble = false
  private var hasWaitedForNetworks = false

  /// Needs no system resource that could be missing; it opens the links later. Trouble is reported
  /// once, and nil when it has ended.
  init(
    _ handler: Handler, _ poller: consuming Poller, reaching reach: SocketAddress?, stop: StopSignal,
    wakeup: Wakeup,
    tell: @escaping @Sendable (Handler.News) -> Void, trouble: @escaping @Sendable (FindingTrouble?) -> Void
  ) {
    self.poller = poller
    self.handler = handler
    self.stop = stop
    self.wakeup = wakeup
    self.tell = tell
    self.trouble = trouble
    links = OpenLinks(reaching: reach)
    changes = try? InterfaceChanges()
  }

  /// Runs until the end has been requested and completed.
  mutating func run() throws(SystemError) {
    while !isOver {
      if heedsStop() { continue }
      if let lookAt, lookAt <= .now() {
        look()
        continue
      }
      // The sockets get their turn, even if many moments follow.
      heedTime()
      try turn()
    }
  }

  /// Begins the end if it is requested. Returns whether it did.
  private mutating func heedsStop() -> Bool {
    guard stop.isSet, !isStopping else { return false }
    isStopping = true
    handle(.stop)
    return true
  }

  private mutating func heedTime() {
    if let moment = handler.nextMoment, moment <= BootInstant.now().seconds { handle(.timePassed) }
  }

  private mutating func turn() throws(SystemError) {
    if let restUntil, restUntil <= .now() { self.restUntil = nil }
    let open = restUntil == nil ? links.interests : []
    var interests = [Poller.Interest(wakeup.raw, .readable)]
    if let raw = changes?.raw { interests.append(Poller.Interest(raw, .readable)) }
    let first = interests.count
    interests += open.map { Poller.Interest($0.raw, .readable) }
    let moments = [handler.nextMoment.map { BootInstant(seconds: $0) }, lookAt, restUntil]
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

  /// Processes a batch of packets. Returns whether there were any. The end and due moments need not
  /// wait for the whole batch.
  private mutating func receive(_ link: Link) -> Bool {
    var packets: [([UInt8], SocketAddress)] = []
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

  /// Schedules a listing of the interfaces, after this time at the latest.
  private mutating func look(after time: Duration) {
    let moment = BootInstant.now() + time
    lookAt = lookAt.map { min($0, moment) } ?? moment
  }

  private mutating func look() {
    lookAt = nil
    do throws(SystemError) {
      let interfaces = try NetworkInterface.all()
      // An interface that was interrupted may lead to another network now.
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
    trouble(links.failure.map(FindingTrouble.refused) ?? (links.choice.isOnlyTunnels ? .onlyTunnels : .noNetwork))
  }

  private mutating func handle(_ event: LinkEvent) {
    for action in handler.handle(event, now: BootInstant.now().seconds) {
      switch action {
      case .send(let bytes, let link): links.send(bytes, link)
      case .tell(let news): tell(news)
      case .over: isOver = true
      }
    }
  }
}

/// A link loop on its own thread.
final class LinkThread: Sendable {
  private let stop = StopSignal()
  private let waking: StopSignal.Waking
  private let hasEnded = Condition(false)

  /// Starts it, with everything that it needs except links. `tell` and `trouble` are called on the
  /// thread and must not block it; `trouble` with nil when the trouble has ended.
  init<Handler: LinkHandler>(
    _ name: String, _ handler: Handler, reaching reach: SocketAddress? = nil,
    tell: @escaping @Sendable (Handler.News) -> Void,
    trouble: @escaping @Sendable (FindingTrouble?) -> Void
  ) throws(SystemError) {
    let wakeup = try Wakeup()
    waking = stop.waking(wakeup)
    let (stop, hasEnded) = (stop, hasEnded)
    let poller = Handover(try Poller(ofLoop: true))
    _ = try OwnerThread(name: name) {
      LoopThread.enter()
      var loop = LinkLoop(
        handler, poller.take(), reaching: reach, stop: stop, wakeup: wakeup, tell: tell, trouble: trouble)
      do throws(SystemError) {
        try loop.run()
      } catch {
        trouble(.refused(error))
      }
      hasEnded.withLock { $0 = true }
      hasEnded.broadcast()
    }
  }

  deinit { stop.set() }

  /// Requests the end, from any thread.
  func end() { stop.set() }

  /// Waits for the end. Returns whether it came in time.
  func wait(until deadline: BootInstant) -> Bool {
    hasEnded.wait(until: deadline) { $0 ? true : nil } ?? false
  }
}

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
  /// The current links, each with the addresses of its interface that may be announced, of either family:
  /// at least one, in the same order for the same set.
  case links([Link: [SocketAddress]])
  /// A packet has arrived.
  case packet([UInt8], Link, from: SocketAddress)
  /// No event came before `nextMoment`.
  case timePassed
  /// The owner requests the end.
  case stop
}

/// The action of a handler.
package enum LinkAction<News: Sendable>: Sendable {
  /// Sends a packet to the group.
  case send([UInt8], Link)
  /// Reports news to the owner.
  case tell(News)
  /// No action follows.
  case over
}

extension LinkAction: Equatable where News: Equatable {}
