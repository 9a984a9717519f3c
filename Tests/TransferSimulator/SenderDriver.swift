import MigrationArchive
import MigrationSystem
import MigrationTransfer
import MigrationWire
import TestSupport

/// One process of the sender, from its start to its end: drives the real logic as the real engine does.
final class SenderDriver {
  private final class Stream {
    let number: UInt32
    let replaces: UInt32?
    var wire: Wire?
    var machine = OutgoingStream()
    var frames = FrameReader()
    var isBusy = false
    var isEnding = false
    var isLost = false

    init(_ number: UInt32, replaces: UInt32?) {
      self.number = number
      self.replaces = replaces
    }
  }

  let world: World
  let ground: Ground
  private(set) var isAlive = true
  private(set) var isDone = false
  /// Names the session that goes on; another number fences what still belongs to an older one.
  private(set) var sessionNumber = 0
  private var session = SenderSession(features: .refusals)
  private var control: Wire?
  private var controlFrames = FrameReader()
  private var tree: SourceTree
  private var roots: [SimulatedDirectory]
  private var accept: Accept?
  private var held = HeldItems()
  private var hasExport = false
  private(set) var window: SendWindow?
  private var streams: [Stream] = []
  private var nextStream: UInt32 = 0
  private var exportStart = 0
  /// When the source was listed.
  private let listed: Int
  private var retries = 0
  /// What the destination cannot hold, as this session was told.
  private(set) var refused: Set<Mark> = []
  private var heardRefused: Set<[UInt8]> = []

  init(_ ground: Ground) {
    self.ground = ground
    world = ground.world
    listed = world.now
    (tree, roots) = ground.source.walk()
    world.note("sender starts, \(tree.nodes.count) items")
    connect()
  }

  /// The process is gone.
  func die(_ why: String) {
    guard isAlive else { return }
    world.note("sender dies \(why)")
    isAlive = false
    endSession()
    ground.senderDied(self)
  }

  private func fail(_ error: any Error) {
    guard isAlive else { return }
    world.note("sender fails: \(error)")
    if let violation = error as? Violation { world.fail("the sender found a violation: \(violation)") }
    die("after a failure")
  }

  // MARK: Sessions

  private func connect() {
    let number = sessionNumber
    world.after(min(100_000, 200 << min(retries, 9))) { [self] in
      guard isAlive, number == sessionNumber else { return }
      ground.network.connect("control \(number)") { [self] wire in
        guard isAlive, number == sessionNumber else { return wire?.cut() ?? () }
        guard let wire else {
          retries += 1
          return connect()
        }
        begin(wire)
      }
    }
  }

  private func begin(_ wire: Wire) {
    control = wire
    controlFrames = FrameReader()
    session = SenderSession(features: .refusals)
    held = HeldItems()
    (refused, heardRefused) = ([], [])
    wire.attach(
      .sender, received: { [self] in heard($0, on: wire) },
      ended: { [self] in if wire === control, isAlive { lost() } })
    say(.greeting(Greeting(role: .sender, label: "", software: "", features: .refusals)))
  }

  /// The control connection is gone, and with it everything of its session.
  private func lost() {
    world.note("sender lost its connection")
    ground.interrupted()
    endSession()
    retries = 0
    connect()
  }

  private func endSession() {
    sessionNumber += 1
    window = nil
    hasExport = false
    control?.detach(.sender)
    control?.cut()
    control = nil
    for stream in streams {
      stream.isLost = true
      stream.wire?.detach(.sender)
      stream.wire?.cut()
    }
    streams = []
  }

  private func say(_ message: ControlMessage) { control?.send(message.frame, from: .sender) }

  private func heard(_ bytes: [UInt8], on wire: Wire) {
    guard isAlive, wire === control else { return }
    controlFrames.add(bytes)
    do {
      while wire === control, let (type, body) = try controlFrames.next() {
        guard let message = try ControlMessage(type, body.span, 0..<body.count) else { continue }
        try perform(try session.received(message))
      }
    } catch {
      fail(error)
    }
  }

  private func perform(_ action: SenderSession.Action) throws {
    switch action {
    case .nothing, .show: break
    case .noteRefused(let refusal):
      heardRefused.insert(refusal.path.bytes)
      if let accept { refused.insert(accept.keys.mark(path: refusal.path, generation: refusal.generation)) }
    case .say(let message): say(message)
    case .meet:
      say(
        session.offer(
          Offer(
            transfer: ground.senderKnows, contents: .folders(ground.announcedRoots), items: tree.total.items,
            bytes: tree.total.bytes, allocated: tree.allocated, flags: [])))
    case .begin(let accept): self.accept = accept
    case .keepHeld(let page): if ground.mutation != .ignoreLedger { held.add(page) }
    case .keepPartial(let partial): if ground.mutation != .ignoreLedger { held.add(partial) }
    case .stream:
      ground.senderKnows = accept?.transfer
      window = SendWindow(frames: ground.windowFrames, of: Ground.frameCapacity)
      hasExport = true
      nextStream = 0
      for _ in 0..<world.dice.roll(1...3) { open(replacing: nil) }
    case .finish(let done):
      say(.receipt)
      world.note("sender is done: \(done.total)")
      isDone = true
      window = nil
      ground.senderFinished(done, exportStart: exportStart, refused: heardRefused)
      control?.close(by: .sender)
      isAlive = false
    case .stop(let close):
      world.note("sender hears \(close.code)")
      lost()
    }
  }

  // MARK: The export, which blocks as the real one does

  /// Runs the export of the session if there is one to run. Everything else happens inside.
  func exportIfDue() {
    guard isAlive, hasExport, let accept else { return }
    hasExport = false
    let number = sessionNumber
    exportStart = world.now
    let outlet = SimulatedOutlet(self, number)
    let packer = FramePacker(
      outlet: outlet, sealer: HashSealer(accept.keys), keys: accept.keys, held: held, sizes: Ground.sizes)
    do {
      var export = FolderExport(roots: roots, tree: tree, packer: packer)
      try export.run()
      try packer.drain()
    } catch let error where error.code == .stopped {
      return
    } catch {
      return fail(error)
    }
    guard isCurrent(number) else { return }
    window?.finish()
    for stream in streams { pump(stream) }
    let stale = packer.staleMarks
    world.note("exported \(packer.finish.total), \(stale.count) stale, \(outlet.unsent) unsent")
    for start in stride(from: 0, to: stale.count, by: 3) {
      say(session.drop(Array(stale[start..<min(start + 3, stale.count)])))
    }
    ground.exported(packer.finish, unsent: outlet.unsent, listed: listed, start: exportStart)
    say(session.finish(packer.finish))
  }

  func isCurrent(_ number: Int) -> Bool { isAlive && number == sessionNumber && window != nil }

  /// A buffer, if the window has room for one.
  func takeBuffer() -> FrameBuffer? { window?.takeBuffer() }

  func submit(_ frame: FrameBuffer) {
    guard let number = window?.submit(frame), let stream = streams.first(where: { $0.number == number }) else { return }
    pump(stream)
  }

  func skip(items: UInt64, bytes: UInt64) { window?.skip(items: items, bytes: bytes) }

  var isDrained: Bool { window?.isDrained ?? true }

  // MARK: Streams

  private func open(replacing lost: UInt32?) {
    let stream = Stream(nextStream, replaces: lost)
    nextStream += 1
    streams.append(stream)
    let number = sessionNumber
    ground.network.connect("data \(number).\(stream.number)") { [self] wire in
      guard isCurrent(number), let accept else { return wire?.cut() ?? () }
      guard let wire else { return self.lost(stream) }
      stream.wire = wire
      wire.attach(
        .sender, received: { [self] in heard($0, on: stream) }, ended: { [self] in self.lost(stream) })
      wire.send(
        StreamMessage.join(Join(session: accept.session, stream: stream.number, replaces: stream.replaces)).frame(),
        from: .sender)
      pump(stream)
    }
  }

  private func lost(_ stream: Stream) {
    guard isAlive, streams.contains(where: { $0 === stream }), !stream.isLost else { return }
    stream.isLost = true
    streams.removeAll { $0 === stream }
    guard session.isStreaming, window != nil, !stream.isEnding else { return }
    world.note("sender lost stream \(stream.number)")
    ground.interrupted()
    window?.lost(stream.number, replacedBy: nextStream)
    open(replacing: stream.number)
  }

  private func pump(_ stream: Stream) {
    guard let wire = stream.wire, !stream.isLost, !stream.isBusy, window != nil else { return }
    switch window!.next(for: stream.number) {
    case .send(let frame):
      let header = DataHeader(sequence: stream.machine.assign(), encoding: .plain, plainLength: frame.count)
      let bytes = Array(frame.bytes[..<frame.count])
      ground.sending(bytes)
      wire.send(StreamMessage.data(header).frame(payload: frame.count) + bytes, from: .sender)
      stream.isBusy = true
      world.after(world.dice.roll(1...1_500)) { [self] in
        stream.isBusy = false
        pump(stream)
      }
    case .end:
      guard !stream.isEnding else { return }
      stream.isEnding = true
      stream.machine.end()
      wire.send(StreamMessage.end.frame(), from: .sender)
    case .wait: break
    }
  }

  private func heard(_ bytes: [UInt8], on stream: Stream) {
    guard isAlive, !stream.isLost else { return }
    stream.frames.add(bytes)
    do {
      while let (type, body) = try stream.frames.next() {
        guard case .ack(let ack) = try StreamMessage(type, body.span, 0..<body.count) else { continue }
        window?.written(try stream.machine.received(ack), on: stream.number)
      }
      pump(stream)
    } catch {
      fail(error)
    }
  }
}

/// The export's way out: it waits by letting the world go on.
final class SimulatedOutlet: FrameOutlet, @unchecked Sendable {
  // Unchecked: a simulation has one thread.
  private let sender: SenderDriver
  private let number: Int
  private(set) var unsent = 0

  init(_ sender: SenderDriver, _ number: Int) {
    self.sender = sender
    self.number = number
  }

  func buffer() throws(ArchiveError) -> FrameBuffer {
    try wait { self.sender.takeBuffer() }
  }

  func submit(_ frame: consuming FrameBuffer) throws(ArchiveError) {
    try check()
    sender.submit(frame)
    // Others have their turn now and then.
    for _ in 0..<sender.world.dice.roll(0...2) { _ = sender.ground.stepInside() }
  }

  func drain() throws(ArchiveError) {
    _ = try wait { self.sender.isDrained ? true : nil }
  }

  func pause(seconds: Double) throws(ArchiveError) {
    let end = sender.world.now + Int(max(0, seconds) * 1_000_000) + 1
    sender.world.after(end - sender.world.now) {}
    _ = try wait { self.sender.world.now >= end ? true : nil }
  }

  var isStopped: Bool { !sender.isCurrent(number) }
  let stopSignal = StopSignal()

  func unsent(_ unsent: Unsent) throws(ArchiveError) { self.unsent += 1 }

  func refuses(_ mark: Mark) -> Bool { sender.refused.contains(mark) }

  func skipped(items: UInt64, bytes: UInt64) { sender.skip(items: items, bytes: bytes) }

  private func check() throws(ArchiveError) {
    guard sender.isCurrent(number) else { throw ArchiveError(.stopped, "the session is over") }
  }

  private func wait<Value>(_ body: () -> Value?) throws(ArchiveError) -> Value {
    while true {
      try check()
      if let value = body() { return value }
      guard sender.ground.stepInside() else {
        sender.world.fail("nothing happens any more")
        throw ArchiveError(.stopped, "the world stands still")
      }
    }
  }
}
