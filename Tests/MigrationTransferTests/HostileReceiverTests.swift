import Expectations
import Foundation
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// A paired receiver that breaks the protocol, or the pairing: the sender ends with the documented
/// kind.
@Suite struct HostileReceiverTests {
  private let source: Scratch

  init() throws {
    source = try Scratch()
    source.write("file", patternData(8 << 20))
  }

  /// Pairs with a real sender, and lets `act` play the receiver; how the sender ended.
  private func play(_ act: (StrangeReceiver, inout StrangeSender) throws -> Void) throws -> Failure? {
    let receiver = try StrangeReceiver()
    let sender = try RunningSender([source.at("file")], to: receiver.port, code: receiver.code)
    var control = try receiver.pair()
    try act(receiver, &control)
    // Sends the rest of the queue, and awaits the sender's last message.
    _ = try? control.closeCode()
    control.control.close()
    return sender.failure()
  }

  /// As `play`, from the moment at which the plan has come.
  private func judgePlan(_ act: (StrangeReceiver, inout StrangeSender) throws -> Void) throws -> Failure? {
    try play { receiver, control in
      control.control.say(StrangeReceiver.greeting)
      _ = try control.next { if case .plan = $0 { true } else { nil } }
      try act(receiver, &control)
    }
  }

  /// As `play`, from the moment at which the offer has come.
  private func answer(
    window: UInt64 = Limits.window, _ act: (StrangeReceiver, inout StrangeSender) throws -> Void
  ) throws -> Failure? {
    try play { receiver, control in
      try takePlan(&control, window: window)
      try act(receiver, &control)
    }
  }

  /// Takes the plan, and hears the offer.
  private func takePlan(_ control: inout StrangeSender, window: UInt64 = Limits.window) throws {
    control.control.say(StrangeReceiver.greeting)
    _ = try control.next { if case .plan = $0 { true } else { nil } }
    control.control.say(StrangeReceiver.verdict(window: window))
    _ = try control.next { if case .offer = $0 { true } else { nil } }
  }

  /// As `answer`, with a data stream that has joined.
  private func take(
    window: UInt64 = Limits.window, _ act: (inout StrangeSender, inout StrangeStream) throws -> Void
  ) throws -> Failure? {
    try answer(window: window) { receiver, control in
      try accept(&control)
      var stream = try receiver.join()
      try act(&control, &stream)
    }
  }

  private func accept(_ control: inout StrangeSender) throws {
    control.control.say(StrangeReceiver.accept)
    control.control.say(StrangeReceiver.nothingHeld)
    _ = try control.control.exchange(until: .now())
  }

  @Test(arguments: [
    [StrangeReceiver.accept, StrangeReceiver.accept], [StrangeReceiver.verdict()],
    [.failed(Failed(part: 1, Close(.storage, "it fails")))], [.done(Done(total: Tally(items: 1, bytes: 8 << 20)))],
    [StrangeReceiver.accept, .held(Held(kind: .staged, marks: [5])), .held(Held(kind: .staged, marks: [4]))],
    [StrangeReceiver.accept, .held(Held(kind: .present, marks: [5])), .held(Held(kind: .staged, marks: [6]))],
    [StrangeReceiver.accept, .heldEnd(HeldEnd(held: Tally(items: 1)))],
    [StrangeReceiver.nothingHeld], [.finish(Finish(total: Tally(), unsent: 0, digest: 0))],
  ])
  func `an answer to the offer that is not right is refused`(messages: [ControlMessage]) throws {
    let failure = try answer { _, control in for message in messages { control.control.say(message) } }
    expect(failure?.kind, is: .failed)
  }

  @Test(arguments: [
    StrangeReceiver.verdict(window: Limits.smallestWindow - 1), StrangeReceiver.verdict(streams: 0),
    StrangeReceiver.verdict(streams: 65), StrangeReceiver.verdict([]), StrangeReceiver.verdict([.taken(), .taken()]),
    StrangeReceiver.verdict([.taken(without: [.init(root: 0, code: .notAllowed)])]),
    StrangeReceiver.verdict([.taken(without: [.init(root: 1, code: .notAllowed)])]), StrangeReceiver.accept,
  ])
  func `an answer to the plan that is not right is refused`(message: ControlMessage) throws {
    let failure = try judgePlan { _, control in control.control.say(message) }
    expect(failure?.kind, is: .failed)
  }

  @Test func `a transfer whose end was never sent is not done, even if the receiver claims it`() throws {
    let receiver = try StrangeReceiver()
    let sender = try RunningSender([source.at("file")], to: receiver.port, giveUpAfter: 600, code: receiver.code)
    try breakOff(try receiver.pair(), receiver)
    var control = try receiver.takeBack()
    control.control.say(StrangeReceiver.greeting)
    let continued = try control.next { message -> Bool? in
      if case .plan(let plan) = message { plan.transfer == 1 } else { nil }
    }
    expect(continued, is: true)
    control.control.say(StrangeReceiver.verdict())
    _ = try control.next { if case .offer = $0 { true } else { nil } }
    control.control.say(.done(Done(total: Tally(items: 1, bytes: 8 << 20))))
    expect(try control.closeCode(), is: .violation)
    control.control.close()
    expect(sender.failure()?.kind, is: .failed)
  }

  /// Takes a first frame, and is gone.
  private func breakOff(_ session: consuming StrangeSender, _ receiver: StrangeReceiver) throws {
    var control = session
    try takePlan(&control)
    try accept(&control)
    var stream = try receiver.join()
    _ = try stream.next()
  }

  @Test func `a file as large as any can be may go out again and again`() throws {
    let scratch = try Scratch()
    scratch.write("file", "")
    // Not every file system has room for it.
    guard truncate(scratch.path("file"), off_t(Limits.fileSize)) == 0 else { return }
    let receiver = try StrangeReceiver()
    let sender = try RunningSender([scratch.at("file")], to: receiver.port, giveUpAfter: 600, code: receiver.code)
    try breakOff(try receiver.pair(), receiver)
    for _ in 0..<3 { try breakOff(try receiver.takeBack(), receiver) }
    // It may not have noticed yet that the last session has ended.
    let kind = sender.stop()?.kind
    expect(kind == .interrupted || kind == .connectionLost)
  }

  @Test func `a ledger without an end is refused`() throws {
    let failure = try answer { _, control in
      control.control.say(StrangeReceiver.accept)
      let page = UInt64(Limits.marksInFrame)
      // The rest of the bound, and one page.
      for number in 0...(Limits.ledgerMargin / page) {
        let marks = (number * page..<(number + 1) * page).map { Mark($0) }
        control.control.say(.held(Held(kind: .present, marks: marks)))
        try control.passOn()
      }
      do {
        expect(try control.closeCode(), is: .violation)
      } catch let error as ConnectionError {
        // The sender waits two seconds for this end, which a busy machine may need; its own word is
        // below.
        expect(error.code == .closed || error.code == .lost)
      }
    }
    expect(failure?.kind, is: .failed)
    expect(failure?.message.contains("the ledger exceeds its limit"), is: true, "\(failure.debugDescription)")
  }

  @Test func `an acknowledgement that goes back is refused`() throws {
    let failure = try take { control, stream in
      _ = try stream.next()
      try stream.acknowledge(1)
      try stream.acknowledge(0)
      expect(try control.closeCode(), is: .violation)
    }
    expect(failure?.kind, is: .failed)
  }

  @Test func `another key behind a data stream stops everything, in the words for people`() throws {
    let failure = try answer { receiver, control in
      try accept(&control)
      // The sender shows it none.
      #expect(throws: ConnectionError.self) { _ = try receiver.accept(as: try Identity.generate()) }
    }
    expect(failure?.message, is: "The other device's key is not the one you paired with. Stopped.")
  }

  @Test func `data streams that the receiver never knows end the transfer with a reason`() throws {
    let failure = try answer { receiver, control in
      try accept(&control)
      for _ in 0...16 {
        try receiver.turnAway(.unknownPeer)
        // All of them take longer than a sender lets its receiver be silent.
        control.control.say(.pong(0))
        _ = try control.control.exchange(until: .now())
      }
    }
    expect(failure?.kind, is: .connectionLost)
    expect(failure?.message.contains("the other device has no session for them"), is: true)
  }

  @Test(arguments: [
    (Close.Code.interrupted, Failure.Kind.connectionLost), (.exists, .refused), (.noSpace, .noSpace),
    (.importFailed, .importFailed), (.violation, .failed), (.storage, .failed),
  ])
  func `a CLOSE is heard although the connection ends right behind it`(
    code: Close.Code, kind: Failure.Kind
  ) throws {
    let receiver = try StrangeReceiver()
    let sender = try RunningSender([source.at("file")], to: receiver.port, code: receiver.code)
    var control = try receiver.pair()
    control.control.say(StrangeReceiver.greeting)
    _ = try control.next { if case .plan = $0 { true } else { nil } }
    control.control.say(.close(Close(code, "it has\u{1B} to be")))
    control.control.close()
    let failure = sender.failure()
    expect(failure?.kind, is: kind)
    expect(failure?.message.hasPrefix("the other device stopped: "), is: true)
    // Its words are shown only where the code does not say all.
    expect(failure?.message.contains("\"it has"), is: !code.isWorded)
    expect(failure?.message.contains("\u{1B}"), is: false)
  }

  @Test func `no more than the window is under way, and a sender that waits can be stopped`() throws {
    let receiver = try StrangeReceiver()
    let sender = try RunningSender([source.at("file")], to: receiver.port, code: receiver.code)
    var control = try receiver.pair()
    try takePlan(&control, window: Limits.smallestWindow)
    try accept(&control)
    var stream = try receiver.join()
    // Counted as the sender has to count them: plain.
    var underWay = UInt64(0)
    let silence = #expect(throws: ConnectionError.self) {
      while underWay <= Limits.smallestWindow {
        guard case .data(let data) = try stream.next(until: .now().advanced(by: .seconds(1))) else { break }
        underWay += UInt64(Limits.dataHeader + data.plainLength)
      }
    }
    expect(silence?.code, is: .timedOut)
    expect((Limits.smallestWindow / 2...Limits.smallestWindow).contains(underWay))
    let watch = try Stopwatch()
    sender.sender.stop(.terminated)
    let told = try control.next { message -> Close.Code? in
      if case .close(let close) = message { close.code } else { nil }
    }
    control.control.close()
    expect(sender.failure()?.kind, is: .terminated)
    expect(told, is: .interrupted)
    expect(watch.seconds < 5)
  }

  /// Interrupts a sender one of whose data streams has joined, and plays the receiver's end of
  /// that; how long it took.
  private func interrupt(_ act: (inout StrangeStream) -> Void = { _ in }) throws -> Double {
    let receiver = try StrangeReceiver()
    let sender = try RunningSender([source.at("file")], to: receiver.port, code: receiver.code)
    var control = try receiver.pair()
    try takePlan(&control)
    try accept(&control)
    var stream = try receiver.join()
    let watch = try Stopwatch()
    sender.sender.stop(.interrupted)
    act(&stream)
    expect(sender.failure()?.kind, is: .interrupted)
    _ = consume stream
    return watch.seconds
  }

  @Test func `a sender without a reader for its data ends soon when it is stopped`() throws {
    expect(try interrupt() < 8)
  }

  @Test func `a data stream on which the receiver never stops talking does not keep the sender from stopping`() throws {
    let ignored = [UInt8]([[UInt8]](repeating: [0x90, 0, 0, 0, 0], count: 3_000).joined())
    let seconds = try interrupt { stream in
      let deadline = soon()
      while BootInstant.now() < deadline, (try? stream.connection.writeAll(ignored, until: deadline)) != nil {}
    }
    expect(seconds < 8)
  }

  @Test func `a device that never finishes the handshake does not hold a sender that is stopped`() throws {
    let listening = try ListeningSocket(host: "127.0.0.1", port: 0)
    let sender = try RunningSender([source.at("file")], to: listening.port, code: PairingCode(number: 1))
    _ = try sender.events.first { if case .connecting = $0 { true } else { nil } }
    let watch = try Stopwatch()
    sender.sender.stop(.interrupted)
    expect(sender.failure()?.kind, is: .interrupted)
    expect(watch.seconds < 3)
  }
}
