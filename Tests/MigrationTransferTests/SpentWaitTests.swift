import Expectations
import Glibc
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// A wait whose guesses are all spent: no code any more, unless the user wants another wait.
@Suite struct SpentWaitTests {
  /// The delays of ninety-nine guesses in less than a second.
  private static let hasty = LoopClock(speed: 300)

  private let source: Scratch
  private let destination: Scratch
  private let memory: Scratch

  init() throws {
    (source, destination, memory) = (try Scratch(), try Scratch(), try Scratch())
    source.write("file", patternData(100))
  }

  /// The person at the receiver's terminal, who presses Enter when a test does.
  private final class Person: Sendable {
    private let wakeup: Wakeup
    private let asked = Condition(0)
    private let answer: Bool

    init(answering answer: Bool = true) throws {
      wakeup = try Wakeup()
      self.answer = answer
    }

    func press() { wakeup.signal() }

    func ask(_ until: CInt) -> Bool? {
      asked.withLock { $0 += 1 }
      asked.broadcast()
      var interests = [Poller.Interest(wakeup.raw, .readable), Poller.Interest(until, .readable)]
      var poller = try? Poller()
      _ = try? poller?.wait(&interests, until: soon())
      guard interests[1].ready.isEmpty, !interests[0].ready.isEmpty else { return nil }
      wakeup.clear()
      return answer
    }

    /// Waits for the given number of questions.
    func waitUntilAsked(_ count: Int = 1) throws {
      _ = try asked.wait(for: "the question") { $0 >= count ? true : nil }
    }

    var questions: Int { asked.withLock { $0 } }
  }

  /// Spends every guess of a wait over connections, the last of them from the busiest address.
  private func spend(_ receiver: RunningReceiver) throws {
    let port = try receiver.port()
    var spent = receiver.events.wrongCodes
    let (end, deadline) = (spent + GuessLimit.most, soon() + .seconds(60))
    var host = 1
    while spent < end, BootInstant.now() < deadline {
      var client = try StrangeClient(port: port, from: "127.0.1.\(host)")
      guard try client.guess() == .codeMismatch else { continue }
      spent += 1
      // After a while a second guess of these two is compared; the others continue meanwhile.
      host = spent - end + GuessLimit.most == 50 ? 1 : host % 250 + 1
    }
    expect(spent, is: end)
  }

  /// Spends every guess of a wait, each from an address of its own.
  private func spendEach(_ receiver: RunningReceiver) throws {
    let port = try receiver.port()
    let deadline = soon() + .seconds(60)
    var spent = 0
    while spent < GuessLimit.most, BootInstant.now() < deadline {
      var client = try StrangeClient(port: port, from: "127.0.1.\(spent + 1)")
      if try client.guess() == .codeMismatch { spent += 1 }
    }
    expect(spent, is: GuessLimit.most)
  }

  private func spentEvents(_ receiver: RunningReceiver) -> [(from: [GuessLimit.Count], isOver: Bool)] {
    receiver.events.all.compactMap { event in
      if case .codesSpent(99, let from, let isOver) = event { (from, isOver) } else { nil }
    }
  }

  @Test func `after ninety-nine guesses no code is shown, until the user wants another wait`() throws {
    let person = try Person()
    let receiver = try RunningReceiver(
      destination, codePace: Self.hasty, giveUpAfter: 30, restart: { person.ask($0) })
    try spend(receiver)
    try person.waitUntilAsked()
    let told = spentEvents(receiver)
    expect(told.count == 1 && told[0].isOver == false)
    expect(told[0].from.reduce(0) { $0 + $1.count }, is: 99)
    expect(told[0].from.first, is: GuessLimit.Count(network: "127.0.1.1", count: 2))
    let codes = receiver.events.codes
    // Every later try is turned away, and nothing is compared.
    for host in 1...3 {
      var client = try StrangeClient(port: try receiver.port(), from: "127.0.2.\(host)")
      expect(try client.guess(), is: .notPairing)
    }
    expect(receiver.events.codes == codes && receiver.events.wrongCodes == 99)
    person.press()
    _ = try receiver.events.code(codes + 1)
    expect(person.questions, is: 1)
    let port = try receiver.port()
    let deadline = soon()
    // A code may be over before it is proved, since it ages as fast as the delays; then there is
    // the next.
    var result: TransferResult?
    while result == nil, BootInstant.now() < deadline {
      result = try? send([source.at("file")], to: port, code: try receiver.events.lastCode())
    }
    expect(result?.total, is: Tally(items: 1, bytes: 100))
    _ = try receiver.result()
  }

  @Test func `another wait allows as many guesses, and its end is reported again`() throws {
    let person = try Person()
    let receiver = try RunningReceiver(destination, codePace: Self.hasty, restart: { person.ask($0) })
    for round in 1...2 {
      try spendEach(receiver)
      try person.waitUntilAsked(round)
      expect(spentEvents(receiver).count, is: round)
      person.press()
      _ = try receiver.events.code(33 * round + 1)
    }
    expect(receiver.stop()?.kind, is: .interrupted)
  }

  @Test func `a sender that is known comes back when no code is shown any more`() throws {
    let store = TransferStore(home: memory.at("home"))
    let person = try Person()
    let root = Root(kind: .directory, name: Array("root".utf8))
    let identity: Identity
    do {
      // An unfinished transfer, of which a directory has arrived.
      let receiver = try RunningReceiver(destination, store: store)
      let port = try receiver.port()
      var sender = try StrangeClient(port: port).pair(try receiver.events.code())
      identity = sender.identity
      let accept = try #require(try sender.begin(StrangeSender.offer([root])))
      var stream = try sender.join(port, Join(session: accept.session, stream: 0))
      var frame = StrangeFrame()
      frame.item(try record("root", .directory))
      try stream.say(frame.frame(0))
      _ = try stream.connection.readExactly(1, until: soon())
      sender.control.say(.close(Close(.interrupted, "enough")))
      sender.control.close()
      _ = receiver.failure()
    }
    let receiver = try RunningReceiver(
      destination, codePace: Self.hasty, giveUpAfter: 30, store: store, restart: { person.ask($0) })
    try spendEach(receiver)
    try person.waitUntilAsked()
    var sender = try StrangeClient(port: try receiver.port(), identity: identity).comeBack()
    sender.control.say(StrangeSender.greeting)
    let isGreeted = try sender.next { if case .greeting = $0 { true } else { nil } }
    expect(isGreeted, is: true)
    expect(receiver.events.wrongCodes, is: 99)
    sender.control.close()
    expect(receiver.stop()?.kind, is: .interrupted)
  }
}

extension Events {
  fileprivate var codes: Int { all.count { if case .code = $0 { true } else { false } } }
}
