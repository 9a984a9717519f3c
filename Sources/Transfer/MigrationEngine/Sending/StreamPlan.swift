import MigrationWire

/// The data streams of a session: opened a few at a time, replaced when they break, and as many as
/// help (Protocol §7.3); in a relayed session, past the relay where that is possible (§6.9). Times
/// are seconds.
struct StreamPlan: Sendable {
  typealias StreamNumber = SenderEngine.StreamNumber
  typealias Action = SenderEngine.Action
  typealias StreamRoute = SenderEngine.StreamRoute

  /// How often in a row a stream and its replacements may be lost without delivering anything.
  ///
  /// The pauses between these attempts sum to 20.5 s. An end detects silence earlier than that, so
  /// it notices the loss of the control connection first.
  private static let losses = 16
  /// After this number of attempts, a stream that has never joined and carries nothing is given up: a
  /// device on the way allows no more connections.
  private static let refusals = 4
  /// How many streams may be on their way to JOIN, because the receiver has few places for streams
  /// that have not joined.
  private static let places = 2
  /// How many frames for each stream must be unsent before others open.
  private static let worthwhile = 8
  /// The seconds between two reads of the window.
  private static let lookPause = 0.05

  /// An address past the relay, at which a stream has joined.
  private struct DirectAddress: Equatable {
    let address: InternetAddress
    /// Whether further streams can take it.
    let isOpen: Bool
  }

  struct Stream: Equatable {
    enum State: Equatable {
      /// Leads to joining, once it is due and there is a place.
      case queued(due: Double)
      case joining
      case joined
    }

    let number: StreamNumber
    /// The broken stream whose frames this one sends again.
    let replaces: StreamNumber?
    /// How many streams before it in its line were lost without delivering anything.
    let attempts: Int
    /// Whether it stays; otherwise it ends when all its frames are written.
    var stays: Bool
    var state: State
    /// How it reaches the receiver, once it has started.
    var route = StreamRoute.asControl

    /// Whether it is a round of tries to pass the relay.
    var isTrying: Bool { if case .round = route { state == .joining } else { false } }

    /// When it may start; nil once it has started.
    var due: Double? { if case .queued(let due) = state { due } else { nil } }
  }

  private let session: SessionNumber
  private let identifier: SessionID
  /// How many streams the receiver accepts.
  let limit: Int
  /// Nil where the user has fixed the number.
  private var count: StreamCount?
  /// The streams that have not ended. A replacement has the position of the stream that it
  /// replaces.
  private(set) var streams: [Stream] = []
  private var nextNumber: StreamNumber = 0
  /// How many streams are still to be opened.
  private var missing: Int
  /// When to read the window again; nil where nothing would follow from it.
  private var nextLook: Double?
  /// Whether everything is written, so that a stream needs no replacement.
  private var isOver = false
  /// How many streams the user wants.
  private let fixed: Int?
  private var rounds = DirectRounds()
  /// The direct connection that is used.
  private var direct: DirectAddress?

  /// The receiver has announced how many streams it accepts; `count` was the best number before.
  init(_ session: SessionNumber, _ verdict: Verdict, fixed: UInt32?, count: Int, now: Double) {
    self.session = session
    identifier = verdict.session
    limit = Int(verdict.streams)
    self.fixed = fixed.map { max(1, min(Int($0), Int(verdict.streams))) }
    if let fixed = self.fixed {
      missing = fixed
    } else {
      let found = StreamCount(count: count, limit: limit, now: now)
      self.count = found
      missing = found.count
      nextLook = now + Self.lookPause
    }
  }

  /// Another part begins to be sent: the pause before it says nothing about the streams.
  mutating func beginPart(_ now: Double) {
    count?.resume(now: now)
    if count != nil { nextLook = now + Self.lookPause }
  }

  /// The best number so far; nil where the user has fixed it.
  var found: Int? { count?.found }

  private var joining: Int { streams.count { $0.state == .joining && !$0.isTrying } }

  // MARK: Events of the streams

  /// Opens missing streams, at most `places` at a time. If the user has fixed their number, they do
  /// not wait for frames. Otherwise the first stream opens at once, and another stream opens only
  /// if more frames wait than the starting streams and a newly joined stream can carry.
  mutating func open(waiting: Int = 0, _ now: Double, _ actions: inout [Action]) {
    while missing > 0, direct?.isOpen != false, joining < Self.places, streams.count < limit,
      count == nil || streams.isEmpty || waiting > joining + 1
    {
      missing -= 1
      streams.append(
        Stream(number: takeNumber(), replaces: nil, attempts: 0, stays: true, state: .queued(due: now)))
      startQueued(now, &actions)
    }
  }

  /// JOIN is sent on a stream; `address` is the one past the relay at which it has come.
  mutating func joined(_ number: StreamNumber, by address: InternetAddress?, _ now: Double, _ actions: inout [Action]) {
    guard let index = index(of: number) else { return }
    streams[index].state = .joined
    if let address, direct == nil, streams[index].route != .asControl, !isOver {
      pass(by: address, now, &actions)
    } else if let direct, streams[index].route == .asControl {
      retire(index, &actions)
      fill(min(fixed ?? count?.count ?? 1, direct.isOpen ? limit : 1))
    }
    startQueued(now, &actions)
    if count == nil {
      open(now, &actions)
    } else if missing > 0 {
      // A read of the window that is due as well is the same read.
      if let look = nextLook, now >= look { nextLook = now + Self.lookPause }
      actions.append(.readWindow(session))
    }
  }

  mutating func ended(
    _ number: StreamNumber, _ end: SenderEngine.StreamEnd, _ now: Double, _ actions: inout [Action]
  ) throws(Failure) {
    guard let index = index(of: number) else { return }
    if streams[index].isTrying {
      // The relay remains.
      remove(index, &actions)
      return rounds.ended(now: now)
    }
    leaveDirect(ifWith: index, now)
    switch end {
    case .finished: remove(index, &actions)
    case .lost(let hasBrought):
      if mayGiveUp(streams[index]) || isSpare(streams[index]) {
        count?.cannotOpen(now: now)
        remove(index, &actions)
        startQueued(now, &actions)
      } else {
        try replace(index, hasBrought: hasBrought, now, &actions)
      }
    case .turnedAway(let fault): try replace(index, hasBrought: false, otherwise: fault, now, &actions)
    case .stopped: try replace(index, hasBrought: false, now, &actions)
    case .failed(let fault):
      remove(index, &actions)
      throw fault
    }
  }

  /// Everything is written: no more streams need to open.
  mutating func finish(_ actions: inout [Action]) {
    isOver = true
    missing = 0
    nextLook = nil
    actions += streams.filter { $0.due != nil }.map { .forgetStream(session, $0.number) }
    streams.removeAll { $0.due != nil }
  }

  /// A stream broke: a replacement replaces it, after a pause that grows with the failed attempts;
  /// after too many, the fault ends the session.
  private mutating func replace(
    _ index: Int, hasBrought: Bool,
    otherwise fault: Failure = Failure(.connection, "the data connections keep breaking"),
    _ now: Double, _ actions: inout [Action]
  ) throws(Failure) {
    if isOver { return remove(index, &actions) }
    let broken = streams[index]
    // A stream that has not joined has not sent its `replaces`: its replacement replaces the stream that
    // it was to replace.
    let hadJoined = broken.state == .joined
    let attempts = hasBrought ? 1 : broken.attempts + 1
    guard attempts <= Self.losses else {
      // The session may have to record a DONE first.
      streams.remove(at: index)
      throw fault
    }
    let pause = attempts == 1 ? 0 : min(2, 0.01 * Double(1 << attempts))
    let replacement = Stream(
      number: takeNumber(), replaces: hadJoined ? broken.number : broken.replaces, attempts: attempts,
      stays: broken.stays, state: .queued(due: now + pause))
    streams[index] = replacement
    actions.append(.moveFrames(session, from: broken.number, to: replacement.number))
    startQueued(now, &actions)
  }

  /// Whether a lost stream has never joined and carries nothing, and other streams work without it.
  private func mayGiveUp(_ lost: Stream) -> Bool {
    !isOver && lost.state != .joined && lost.replaces == nil && lost.attempts + 1 >= Self.refusals
      && streams.count(where: { $0.stays && !$0.isTrying }) > 1
  }

  // MARK: Looks

  /// The next moment at which something is due without an event. The window is read only while data
  /// is sent.
  func nextMoment(isSending: Bool) -> Double? {
    let start = joining < Self.places ? streams.compactMap(\.due).min() : nil
    return [start, isSending ? nextLook : nil, isSending && mayTry ? rounds.due : nil].compactMap { $0 }.min()
  }

  /// Starts due streams, and reads the window if that is due.
  mutating func moveOn(isSending: Bool, _ now: Double, _ actions: inout [Action]) {
    startQueued(now, &actions)
    guard isSending, let look = nextLook, now >= look else { return }
    nextLook = now + Self.lookPause
    actions.append(.readWindow(session))
  }

  /// The counters are known: some streams open, or end.
  mutating func looked(_ counts: SenderEngine.WindowCounts, _ now: Double, _ actions: inout [Action]) {
    guard !isOver else { return }
    open(waiting: counts.waitingFrames, now, &actions)
    let observation = observation(counts, now)
    switch count?.look(observation) {
    case nil, .stay: break
    case .open(let more):
      missing += more
      open(waiting: counts.waitingFrames, now, &actions)
    case .end(let surplus):
      for index in streams.indices.filter({ streams[$0].stays && !streams[$0].isTrying }).suffix(surplus) {
        retire(index, &actions)
      }
    }
  }

  private func observation(_ counts: SenderEngine.WindowCounts, _ now: Double) -> StreamCount.Observation {
    StreamCount.Observation(
      time: now, bytes: counts.writtenLength, frames: counts.writtenFrames, written: counts.lastWritten,
      fewest: streams.filter { $0.stays && !$0.isTrying }.map { counts.framesOfStream[$0.number] ?? 0 }.min() ?? 0,
      isComplete: missing == 0 && streams.allSatisfy { $0.state == .joined || $0.isTrying },
      isWaiting: counts.waitingFrames > 0 && isLong(counts) && !counts.isLimited)
  }

  /// Whether so much is unsent that further streams come up to speed before the end.
  private func isLong(_ counts: SenderEngine.WindowCounts) -> Bool {
    counts.unsentFrames.map { $0 >= Self.worthwhile * streams.count } ?? true
  }

  // MARK: Past the relay

  /// How the data travels where it passes a relay.
  var directAddress: InternetAddress? { direct?.address }

  /// The receiver has told its addresses.
  mutating func told(_ addresses: Addresses) { rounds.told(addresses) }

  /// Whether there is room for a round.
  private var mayTry: Bool { !isOver && direct == nil && streams.count < limit }

  /// Begins a round of tries, if one is due: a stream that takes the first address that answers.
  mutating func tryAddresses(within budget: inout AddressBudget, _ now: Double, _ actions: inout [Action]) {
    guard mayTry, let addresses = rounds.begin(within: &budget, now: now) else { return }
    let stream = Stream(
      number: takeNumber(), replaces: nil, attempts: 0, stays: true, state: .joining, route: .round(addresses))
    streams.append(stream)
    actions.append(
      .openStream(session, Join(session: identifier, stream: stream.number), attempts: 0, by: stream.route))
  }

  /// A stream has joined past the relay: the others end, or follow it where it leads.
  private mutating func pass(by address: InternetAddress, _ now: Double, _ actions: inout [Action]) {
    let isOpen = rounds.accepts(address)
    direct = DirectAddress(address: address, isOpen: isOpen)
    for index in streams.indices.reversed() where streams[index].route == .asControl {
      if streams[index].due != nil, streams[index].replaces == nil {
        remove(index, &actions)
      } else if streams[index].state == .joined {
        retire(index, &actions)
      }
    }
    restart(atMost: isOpen ? limit : 1, now)
  }

  /// When the last stream past the relay has ended, its replacement and others go through the
  /// relay.
  private mutating func leaveDirect(ifWith index: Int, _ now: Double) {
    let passing = streams.filter { $0.state == .joined && $0.route != .asControl }.map(\.number)
    guard direct != nil, !isOver, passing == [streams[index].number] else { return }
    direct = nil
    rounds.ended(now: now)
    restart(atMost: limit, now)
  }

  /// The number of streams that helps is found anew.
  private mutating func restart(atMost limit: Int, _ now: Double) {
    let wanted = min(fixed ?? count?.found ?? 1, limit)
    if fixed == nil { count = StreamCount(count: wanted, limit: limit, now: now) }
    fill(wanted)
  }

  private mutating func fill(_ wanted: Int) {
    // The streams through the relay end when a stream has passed the relay.
    let counting = streams.filter { $0.stays && !$0.isTrying && (direct == nil || $0.route != .asControl) }
    missing = max(0, wanted - counting.count)
  }

  /// Whether a lost stream had not passed the relay yet, while another stream passes it.
  private func isSpare(_ lost: Stream) -> Bool {
    direct != nil && lost.state != .joined && lost.route != .asControl && lost.replaces == nil
  }

  // MARK: A single stream

  private func index(of number: StreamNumber) -> Int? { streams.firstIndex { $0.number == number } }

  private mutating func takeNumber() -> StreamNumber {
    defer { nextNumber += 1 }
    return nextNumber
  }

  private mutating func retire(_ index: Int, _ actions: inout [Action]) {
    guard streams[index].stays else { return }
    streams[index].stays = false
    actions.append(.retire(session, streams[index].number))
  }

  private mutating func remove(_ index: Int, _ actions: inout [Action]) {
    actions.append(.forgetStream(session, streams.remove(at: index).number))
  }

  /// Starts due streams, the oldest first, while there is a place.
  private mutating func startQueued(_ now: Double, _ actions: inout [Action]) {
    while joining < Self.places,
      let number = streams.filter({ $0.due.map { $0 <= now } ?? false }).map(\.number).min(),
      let index = index(of: number)
    {
      streams[index].state = .joining
      // The way on which a stream was lost may be none any more: its frames take the relay.
      if let direct, direct.isOpen, streams[index].attempts == 0 { streams[index].route = .address(direct.address) }
      let stream = streams[index]
      let join = Join(session: identifier, stream: stream.number, replaces: stream.replaces)
      actions.append(.openStream(session, join, attempts: stream.attempts, by: stream.route))
    }
  }
}
