package import MigrationSystem
package import MigrationWire

/// The tokens that a relay is to take from now on: another thread reads them.
package final class NewTokens: Sendable {
  let noticed: Wakeup
  private let tokens = Mutex<[RelayToken]?>(nil)

  init() throws(SystemError) { noticed = try Wakeup() }

  /// Hands tokens over.
  package func give(_ tokens: [RelayToken]) {
    self.tokens.withLock { $0 = tokens }
    noticed.signal()
  }

  func take() -> [RelayToken]? {
    noticed.clear()
    return tokens.withLock { exchange(&$0, with: nil) }
  }
}

/// Runs a relay: accepts connections, gives their frames to the `RelayTable`, and moves the bytes of
/// joined calls. One thread; it waits only for its watch.
package final class RelayLoop {
  /// The names of descriptors in the watch; the names of connections begin at `firstLine`.
  private static let (listener, signals, tokens, firstLine): (UInt64, UInt64, UInt64, UInt64) = (0, 1, 2, 3)
  /// How many connections are accepted before the others have their turn.
  private static let batch = 64
  /// For how many seconds nothing is accepted after an error of the kernel.
  private static let pause = 0.1
  /// How often, in milliseconds, the loop looks at deadlines, and at flows that wait for their rate.
  private static let (tick, shortTick) = (1_000, 20)
  /// More unsent bytes than any honest device lets wait.
  private static let mostUnsent = 16 << 10
  /// How often, in seconds, the loop looks for devices that are gone.
  private static let lookPause = 5.0
  /// How many descriptors a relay at its limits needs: each joined call has two connections, and a pipe
  /// for each direction; and a connection may stay for a moment behind its call.
  package static let descriptors = RelayLimits.connections + 3 * RelayLimits.calls.all + 64

  /// A connection.
  private final class Line {
    let id: RelayTable.ID
    let socket: StreamSocket
    var input: [UInt8] = []
    var output: [UInt8] = []
    /// The events that the watch looks for; nil if it does not watch the connection.
    var watched: Poller.Readiness?
    var call: Call?
    /// Until when it is read behind the last bytes that were said on it; nil before these.
    var leavesAt: Double?
    /// Whether the last look found a device that does not answer.
    var isSilent = false

    init(_ id: RelayTable.ID, _ socket: consuming StreamSocket) {
      self.id = id
      self.socket = socket
    }
  }

  /// A joined call.
  private final class Call {
    let caller: Line
    let receiver: Line
    var there = Flow()
    var back = Flow()

    init(_ caller: Line, _ receiver: Line) {
      self.caller = caller
      self.receiver = receiver
    }
  }

  private var table: RelayTable
  private let listening: ListeningSocket
  private let signals: SignalSource
  private let newTokens: NewTokens
  private let reload: (NewTokens) -> Void
  private let report: (RelayCounters) -> Void
  private var watch: Watch
  /// The pipes that no flow needs now.
  private var free: [BytePipe] = []
  private var lines: [RelayTable.ID: Line] = [:]
  private var lastID = RelayLoop.firstLine
  /// The callers of joined calls that go on in this turn of the loop, or wait for their token's next bytes.
  private var unfinished: Set<RelayTable.ID> = []
  private var restUntil = 0.0
  private var nextTick = 0.0
  private var nextLook = 0.0

  /// `reload` has another thread read the tokens again, at SIGHUP. `report` is told the counters about once a
  /// second.
  package init(
    _ settings: RelaySettings, on listening: consuming ListeningSocket, until signals: consuming SignalSource,
    reload: @escaping (NewTokens) -> Void = { _ in }, report: @escaping (RelayCounters) -> Void
  ) throws(SystemError) {
    table = RelayTable(settings, now: BootInstant.now().seconds)
    newTokens = try NewTokens()
    watch = try Watch()
    try watch.add(listening.raw, as: Self.listener, for: .readable)
    try watch.add(signals.raw, as: Self.signals, for: .readable)
    try watch.add(newTokens.noticed.raw, as: Self.tokens, for: .readable)
    self.listening = consume listening
    self.signals = signals
    self.reload = reload
    self.report = report
  }

  /// Runs until a signal, and then until no call carries data any more, or until a second signal.
  package func run() throws(SystemError) {
    LoopThread.enter()
    var isOver = false
    while !isOver, !table.isDone || lines.values.contains(where: { $0.leavesAt != nil }) {
      for (name, ready) in try watch.wait(milliseconds: unfinished.isEmpty ? Self.tick : Self.shortTick) {
        switch name {
        case Self.listener: accept()
        case Self.signals:
          switch try signals.next() {
          case nil: break
          case .hangUp?: reload(newTokens)
          case .interrupt?, .terminate?:
            isOver = table.isEnding
            act(table.stop(now: BootInstant.now().seconds))
          }
        case Self.tokens:
          if let tokens = newTokens.take() { act(table.change(to: tokens, now: BootInstant.now().seconds)) }
        default: if let line = lines[name] { step(line, ready) }
        }
      }
      goOn()
      look(now: BootInstant.now().seconds)
    }
    act(table.stopNow())
    report(table.counters)
    LoopThread.leave()
  }

  /// What is due by the clock.
  private func look(now: Double) {
    if restUntil > 0, now >= restUntil {
      do throws(SystemError) {
        try watch.add(listening.raw, as: Self.listener, for: .readable)
        restUntil = 0
      } catch {
        restUntil = now + Self.pause
      }
    }
    guard now >= nextTick else { return }
    nextTick = now + 1
    act(table.expire(now: now))
    for line in Array(lines.values) { if let end = line.leavesAt, now >= end { close(line) } }
    if now >= nextLook { dropSilent(now) }
    report(table.counters)
  }

  /// Devices are gone that leave bytes unanswered: the kernel would send again for a quarter of an hour. A probe
  /// of a device that has no room may have been sent just now, so only the second look counts.
  private func dropSilent(_ now: Double) {
    nextLook = now + Self.lookPause
    for line in Array(lines.values) where line.call != nil {
      let isSilent = line.socket.unanswered >= RelayLimits.dead
      if isSilent, line.isSilent { lose(line) } else { line.isSilent = isSilent }
    }
  }

  // MARK: Connections

  private func accept() {
    for _ in 0..<Self.batch {
      do throws(SystemError) {
        guard let socket = try listening.accept() else { return }
        try take(socket)
      } catch {
        // The connections stay in the kernel's queue.
        if restUntil == 0 { watch.remove(listening.raw) }
        restUntil = BootInstant.now().seconds + Self.pause
        return
      }
    }
  }

  private func take(_ socket: consuming StreamSocket) throws(SystemError) {
    try socket.setNoDelay()
    try socket.keepAlive()
    let challenge = try SystemRandom.bytes(RelayFrame.challengeSize)
    lastID += 1
    let line = Line(lastID, socket)
    lines[line.id] = line
    let address = line.socket.remoteAddress
    act(
      table.arrived(
        line.id, at: InternetAddress(address: address.bytes, port: address.port),
        network: address.network(onLink: false).description, challenge: challenge, now: BootInstant.now().seconds))
    if lines[line.id] != nil { want(line, .readable) }
  }

  private func step(_ line: Line, _ ready: Poller.Readiness) {
    if let call = line.call {
      unfinished.insert(call.caller.id)
      return
    }
    if ready.contains(.writable) { flush(line) }
    if lines[line.id] != nil, !ready.isDisjoint(with: [.readable, .hangUp, .failed]) { read(line) }
  }

  private func read(_ line: Line) {
    var bytes = [UInt8](repeating: 0, count: line.leavesAt == nil ? RelayFrame.longest : Self.mostUnsent)
    var memory = bytes.mutableSpan
    let count: Int
    do throws(SystemError) {
      guard let some = try line.socket.receive(into: &memory) else { return }
      count = some
    } catch {
      count = 0
    }
    guard count > 0 else { return line.leavesAt == nil ? lose(line) : close(line) }
    if line.leavesAt != nil { return }
    line.input += bytes[..<count]
    do throws(Violation) {
      while lines[line.id] != nil, let frame = try nextFrame(line) { try handle(frame, line) }
    } catch {
      act(table.broke(line.id))
    }
  }

  private func nextFrame(_ line: Line) throws(Violation) -> RelayFrame? {
    let input = line.input
    guard input.count >= RelayFrame.headerSize else { return nil }
    let length = try RelayFrame.length(input.span.extracting(first: RelayFrame.headerSize))
    guard input.count >= length else { return nil }
    let frame = try RelayFrame(input.span.extracting(first: length))
    line.input.removeFirst(length)
    return frame
  }

  private func handle(_ frame: RelayFrame, _ line: Line) throws(Violation) {
    // Bytes of the other device's that come before JOINED would be lost.
    if case .request(let request, _) = frame, request.errand != .register, !line.input.isEmpty {
      throw Violation(.state, "a frame of a relay")
    }
    guard let random = try? SystemRandom.bytes(24) else { throw Violation(.state, "a frame of a relay") }
    act(table.received(line.id, frame, random: random, date: date, now: BootInstant.now().seconds))
  }

  private var date: RelayDate { RelayDate(Timestamp.coarseNow().seconds) }

  /// A connection has ended.
  private func lose(_ line: Line) {
    close(line)
    act(table.closed(line.id))
  }

  private func close(_ line: Line) {
    if line.watched != nil { watch.remove(line.socket.raw) }
    (line.watched, line.call) = (nil, nil)
    lines[line.id] = nil
    unfinished.remove(line.id)
  }

  private func want(_ line: Line, _ wanted: Poller.Readiness) {
    if line.watched == wanted { return }
    do throws(SystemError) {
      // Without anything that it waits for, a connection that has ended would wake the loop forever.
      if wanted.isEmpty {
        watch.remove(line.socket.raw)
      } else if line.watched == nil {
        try watch.add(line.socket.raw, as: line.id, for: wanted)
      } else {
        try watch.change(line.socket.raw, as: line.id, for: wanted)
      }
      line.watched = wanted.isEmpty ? nil : wanted
    } catch {
      lose(line)
    }
  }

  // MARK: The table's actions

  private func act(_ actions: [RelayTable.Action]) {
    for action in actions {
      switch action {
      case .say(let id, let frame): if let line = lines[id] { say(frame, line) }
      case .close(let id):
        if let line = lines[id] { leave(line) }
      case .join(let caller, let receiver): join(caller, receiver)
      }
    }
  }

  private func say(_ frame: RelayFrame, _ line: Line) {
    line.output += frame.bytes
    flush(line)
  }

  /// Ends a connection behind what was said. With bytes of the device's unread, the kernel would drop what the
  /// device has not read yet: it would not learn why its call has ended.
  private func leave(_ line: Line) {
    guard line.call != nil else {
      try? line.socket.shutdownWrite()
      return close(line)
    }
    line.call = nil
    unfinished.remove(line.id)
    line.leavesAt = BootInstant.now().seconds + RelayLimits.farewell
    flush(line)
  }

  private func flush(_ line: Line) {
    do throws(SystemError) {
      if !line.output.isEmpty, let count = try line.socket.send(line.output.span) { line.output.removeFirst(count) }
      guard line.output.count < Self.mostUnsent else { return lose(line) }
      if line.leavesAt != nil, line.output.isEmpty { try line.socket.shutdownWrite() }
    } catch {
      return line.leavesAt == nil ? lose(line) : close(line)
    }
    if line.watched != nil || line.leavesAt != nil {
      want(line, line.output.isEmpty ? .readable : [.readable, .writable])
    }
  }

  private func join(_ caller: RelayTable.ID, _ receiver: RelayTable.ID) {
    guard let caller = lines[caller], let receiver = lines[receiver], caller.output.isEmpty, receiver.output.isEmpty,
      caller.input.isEmpty, receiver.input.isEmpty
    else {
      for id in [caller, receiver] { if let line = lines[id] { lose(line) } }
      return
    }
    let call = Call(caller, receiver)
    (caller.call, receiver.call) = (call, call)
    unfinished.insert(caller.id)
  }

  // MARK: Joined calls

  /// The calls of a token have equal parts of its rate: none waits until another one has nothing to pass on, and
  /// none that has had an event comes first.
  private func goOn() {
    let now = BootInstant.now().seconds
    for ids in Dictionary(grouping: unfinished, by: { table.token(of: $0) }).values {
      let part = table.allowance(ids[0], .max, among: 2 * ids.count, now: now)
      for id in ids { if let call = lines[id]?.call { move(call, atMost: part, now) } }
    }
  }

  private func move(_ call: Call, atMost part: Int, _ now: Double) {
    let (taken, moved): (Int, Int)
    do throws(SystemError) {
      let there = try call.there.move(from: call.caller.socket, to: call.receiver.socket, atMost: part, &free)
      let back = try call.back.move(from: call.receiver.socket, to: call.caller.socket, atMost: part, &free)
      (taken, moved) = (there.taken + back.taken, there.moved + back.moved)
    } catch {
      return lose(call.caller)
    }
    if taken + moved > 0 { act(table.passed(call.caller.id, moved, taking: taken, date: date, now: now)) }
    guard lines[call.caller.id]?.call === call else { return }
    let rests = (call.there.rest, call.back.rest)
    if rests == (.over, .over) { return lose(call.caller) }
    want(call.caller, Self.wanted(reads: rests.0, writes: rests.1))
    if lines[call.receiver.id]?.call === call { want(call.receiver, Self.wanted(reads: rests.1, writes: rests.0)) }
    // Either may have ended the call.
    guard lines[call.caller.id]?.call === call else { return }
    let goesOn = [rests.0, rests.1].contains { $0 == .allowance || $0 == .turn }
    if goesOn { unfinished.insert(call.caller.id) } else { unfinished.remove(call.caller.id) }
  }

  private static func wanted(reads: Flow.Rest, writes: Flow.Rest) -> Poller.Readiness {
    var wanted: Poller.Readiness = []
    if reads == .source || reads == .turn { wanted.insert(.readable) }
    if writes == .target || writes == .turn { wanted.insert(.writable) }
    return wanted
  }
}
