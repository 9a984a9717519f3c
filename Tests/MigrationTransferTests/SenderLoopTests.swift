import Expectations
import MigrationArchive
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationEngine
@testable import MigrationTransfer

/// A source whose walk does what a test wants.
private final class StrangeSource: ItemSource {
  private let walk: @Sendable (StopSignal) throws(Failure) -> SourceSummary

  init(walk: @escaping @Sendable (StopSignal) throws(Failure) -> SourceSummary) { self.walk = walk }

  func origin() throws(Failure) -> [[UInt8]] { [] }
  func prepare(until stop: StopSignal) throws(Failure) -> SourceSummary { try walk(stop) }
  func export(
    _ settings: ExportSettings, for request: AppRequest?, begin: (any FrameSource) -> Void
  ) throws(Failure) -> ExportResult { throw Failure(.stopped, "stopped") }
}

/// A gate that a test opens, at the latest when the test ends.
private final class Gate: Sendable {
  private let isOpen = Condition(false)

  func open() {
    isOpen.withLock { $0 = true }
    isOpen.broadcast()
  }

  /// Returns when it is open, however long that takes.
  func pass() { _ = isOpen.wait { $0 ? true : nil } }
}

/// The sender's loop, and workers that stand still, fail, or get no thread.
@Suite struct SenderLoopTests {
  @Test func `a source that cannot be walked ends the question for the code, and the run by its own failure`() throws {
    let isAsked = Gate()
    let source = StrangeSource { (_) throws(Failure) in
      isAsked.pass()
      throw Failure(.source, "it is gone")
    }
    let listener = try ListeningSocket(on: .loopback(port: 0))
    let sender = try Sender(Sender.Options(to: listener.port), sources: [source]) { _ in
    } code: { (_, end) throws(Failure) in
      isAsked.open()
      var readiness: Poller.Readiness?
      do throws(SystemError) {
        var poller = try Poller()
        readiness = try poller.wait(for: .readable, on: end, until: soon())
      } catch {
        Issue.record(error)
      }
      expect(readiness, is: .readable)
      throw Failure(.failed, "the question was ended")
    }
    let end = try RunningThread("sender") { try sender.run() }
    let failure = #expect(throws: Failure.self) { try end.value() }
    expect(failure?.kind, is: .usage)
    expect(failure?.message, is: "it is gone")
  }

  @Test func `a sender whose source stands still ends when it is stopped`() throws {
    let gate = Gate()
    defer { gate.open() }
    let source = StrangeSource { (_) throws(Failure) in
      gate.pass()
      throw Failure(.stopped, "it was stopped")
    }
    // The walk would be waited for only behind a pairing.
    let listener = try ListeningSocket(on: .loopback(port: 0))
    let asked = Gate()
    let sender = try Sender(Sender.Options(to: listener.port), sources: [source]) { _ in
    } code: { (_, _) throws(Failure) in
      asked.open()
      return TypedCode(code: PairingCode(number: 1))
    }
    let end = try RunningThread("sender") { try sender.run() }
    asked.pass()
    sender.stop(.terminated)
    let failure = #expect(throws: Failure.self) { try end.value() }
    expect(failure?.kind, is: .terminated)
  }

  @Test func `a sender that is stopped before it begins ends at once`() throws {
    let sender = try Sender(
      Sender.Options(to: 1),
      sources: [StrangeSource { (_) throws(Failure) in throw Failure(.stopped, "stopped") }]
    ) { _ in
    } code: { (_, _) throws(Failure) in
      TypedCode(code: PairingCode(number: 1))
    }
    sender.stop(.interrupted)
    let end = try RunningThread("sender") { try sender.run() }
    let failure = #expect(throws: Failure.self) { try end.value() }
    expect(failure?.kind, is: .interrupted)
  }

  @Test func `other processes may take earlier transfers while the user is asked for the code`() throws {
    let scratch = try Scratch()
    scratch.write("file", "x")
    let source = try FolderSource(paths: [scratch.at("file")])
    let store = TransferStore(home: scratch.at("home"))
    let identity = try Identity.generate()
    _ = try store.create(
      TransferRecord(
        transfer: 7, role: .sender, identity: try identity.encoded(), peer: identity.fingerprint, label: "",
        address: "",
        started: 1, lastSeen: 2, total: Tally(), held: Tally(), subject: .sources(try source.origin()),
        plan: Plan([Part(.folders([Root(kind: .file, name: Array("file".utf8))]), name: "file")]),
        parts: [PartRecord()]))
    // Another device is at the address now.
    let receiver = try StrangeReceiver()
    let sender = try Sender(Sender.Options(to: receiver.port), sources: [source], store: store) { _ in
    } code: { (_, _) throws(Failure) in
      let deadline = soon()
      while BootInstant.now() < deadline {
        // The worker that has dialled may not have returned.
        if let entry = try? store.open(7, role: .sender) {
          throw Failure(.failed, "\(entry.remembered.transfer) is free")
        }
      }
      throw Failure(.failed, "it is not free")
    }
    let end = try RunningThread("sender") { try sender.run() }
    // The sender shows that one no certificate.
    #expect(throws: (any Error).self) { _ = try receiver.accept() }
    let failure = #expect(throws: Failure.self) { try end.value() }
    expect(failure?.message, is: "7 is free")
  }

  @Test func `with any window of a receiver, the sender keeps no more than its own limit`() {
    var window = SendQueue.UnwrittenFrames(.max, of: 1 << 20)
    var frames: UInt64 = 0
    while case .fill = window.next(for: 1) { frames += 1 }
    expect(frames, is: Limits.sendWindow >> 20)
  }

  @Test func `a worker that fails ends in the event of its action`() throws {
    let queue = try EventQueue<Report<SenderEngine.Event, SenderPerformer.Product>>()
    let workers = Workers()
    try workers.start(Worker("derive") { throw Failure(.failed, "it fails") }, reportingTo: queue) {
      Report(.derived($0))
    }
    workers.wait(until: soon())
    let messages = queue.take().map { report -> String? in
      if case .derived(let fault) = report.event { fault?.message } else { nil }
    }
    expect(messages, is: ["it fails"])
  }

  @Test func `an action that blocks has a worker, and an event by which that ends`() throws {
    let fault = Failure(.failed, "there is no thread")
    let identity = try Identity.generate()
    let source = StrangeSource { (_) throws(Failure) in throw Failure(.stopped, "stopped") }
    let setup = SenderSetup(
      options: Sender.Options(to: 1), search: nil, sources: [source], store: nil, observer: { _ in },
      choice: { (_, _) throws(Failure) in throw fault }, code: { (_, _) throws(Failure) in throw fault },
      queue: try EventQueue())
    let performer = try SenderPerformer(setup)
    let address = try SocketAddress.resolve(host: "127.0.0.1", port: 1, passive: false)[0]
    performer.keep(.addresses([address]))
    performer.keep(
      .pairing(Dial.PairingKeys(secret: try PairingCode(number: 1).stretched(), identity: identity, tries: nil)))
    let order = SenderEngine.ExportOrder(
      transfer: 3, part: 0, accept: Accept(keys: TransferKeys(hashKey: 4)), window: Limits.window, request: nil,
      isCompressible: false, refusedRoots: [],
      summary: SourceSummary(contents: .folders([]), total: Tally(), allocated: 0))
    let plan = Plan([Part(.folders([Root(kind: .file, name: [0x61])]), name: "a")])
    let session = SessionNumber(7)
    let before: [(SenderEngine.Action, String)] = [
      (.walk, "walked"), (.lookUpUnfinished, "lookedUp"), (.look, "found"), (.probe(.probed), "probed"),
      (.choose([]), "chosen"),
      (.askCode(DeviceAddress(name: "a", host: "127.0.0.1", port: 1, instance: 0)), "codeEntered"),
      (.deriveSecret(PairingCode(number: 1)), "derived"), (.dial(.pair, at: .probed), "dialed"),
    ]
    let inSession: [(SenderEngine.Action, String)] = [
      (
        .recordPlan(session, .init(transfer: 3, plan: plan, label: "", address: "", keepsPairing: false)),
        "planRecorded"
      ),
      (.export(session, order), "exported"),
      (.openStream(session, Join(session: 2, stream: 5, replaces: nil), attempts: 0, by: .asControl), "streamEnded"),
      (.noteFinish(session, 3, part: 0, Finish(total: Tally(), unsent: 0, digest: 0)), "finishNoted"),
      (.recordDone(3, part: 0, Done(total: Tally()), refusals: []), "recorded"),
      (.note(3, arrived: Tally(), total: Tally(), address: ""), "noted"), (.forget(3), "forgot"),
    ]
    func expectActions(_ actions: [(SenderEngine.Action, String)]) throws {
      for (action, expected) in actions {
        _ = try #require(try performer.perform(action), "\(action)")
        let event = try #require(SenderEngine.end(of: action, by: fault))
        if case .recorded(_, _, let isWritten) = event { expect(!isWritten) }
        expect("\(event)".prefix { $0 != "(" } == expected)
      }
    }
    try expectActions(before)
    let receiver = try StrangeReceiver()
    let port = receiver.port
    let client = try RunningThread("client") { _ = try StrangeClient(port: port) }
    performer.keep(
      .met(
        Dial.MetReceiver(
          try receiver.accept(), OutgoingTransferContext(identity, receiver: identity.fingerprint, meeting: nil),
          try TLSContext(role: .client, identity: identity), nil)))
    try client.value()
    try expectActions(inSession)
    for action in [SenderEngine.Action.stopPreparing, .stopDialing, .finishWindow(session), .stopSession(session)] {
      expect(try performer.perform(action).map(\.name) == nil)
    }
    // It is answered before any other event, so that the engine never waits for two.
    expect(try performer.perform(.readWindow(session)).map(\.name) == nil)
    expect(performer.takeAnswers().map { "\($0)".prefix { $0 != "(" } }, is: ["window"])
    expect(performer.takeAnswers().isEmpty)
  }
}
