import MigrationSystem
import MigrationWire
import Synchronization
import TestSupport
import Testing

@testable import MigrationTransfer

@Suite struct RestartDeskTests {
  /// One that asks, and is told by a test what the user answers.
  private final class Asker: Sendable {
    private let readers = Condition((now: 0, ever: 0))
    private let answer: Wakeup

    init() throws { answer = try Wakeup() }

    func say() { answer.signal() }

    func ask(_ until: CInt) -> Bool? {
      readers.withLock { $0 = ($0.now + 1, $0.ever + 1) }
      readers.broadcast()
      defer { readers.withLock { $0.now -= 1 } }
      var interests = [Poller.Interest(answer.raw, .readable), Poller.Interest(until, .readable)]
      var poller = try? Poller()
      _ = try? poller?.wait(&interests, until: soon())
      return interests[1].ready.isEmpty ? true : nil
    }

    func waitUntilAsked(_ count: Int) throws {
      _ = try readers.wait(for: "the question") { $0.ever >= count ? true : nil }
    }

    var isReading: Bool { readers.withLock { $0.now > 0 } }
    var questions: Int { readers.withLock { $0.ever } }
  }

  private let asker: Asker
  private let desk: RestartDesk
  private let attention: Wakeup

  init() throws {
    let asker = try Asker()
    self.asker = asker
    desk = try RestartDesk { asker.ask($0) }
    attention = try Wakeup()
  }

  private func waitForAttention() throws {
    var poller = try Poller()
    #expect(try poller.wait(for: .readable, on: attention.raw, until: soon()) == .readable)
    attention.clear()
  }

  @Test func `it is asked once, and the answer is told and taken once`() throws {
    #expect(desk.isAttended)
    for _ in 0..<3 { #expect(desk.answer(telling: attention) == nil) }
    asker.say()
    try waitForAttention()
    #expect(desk.answer(telling: attention) == true)
    #expect(asker.questions == 1)
    desk.giveUp()
  }

  @Test func `nothing reads while something else is asked, and afterwards it is asked again`() throws {
    #expect(desk.answer(telling: attention) == nil)
    try asker.waitUntilAsked(1)
    desk.leave {
      #expect(!asker.isReading)
      #expect(desk.answer(telling: attention) == nil)
      #expect(asker.questions == 1)
    }
    #expect(desk.answer(telling: attention) == nil)
    try asker.waitUntilAsked(2)
    desk.giveUp()
    #expect(!asker.isReading)
  }

  @Test func `an answer that came too late counts for nothing`() throws {
    #expect(desk.answer(telling: attention) == nil)
    asker.say()
    try waitForAttention()
    desk.giveUp()
    #expect(desk.answer(telling: attention) == nil)
    desk.giveUp()
  }

  @Test func `a question about an offer takes the place of this one`() throws {
    let consent = try ConsentDesk({ [asker] _, _ in !asker.isReading }, besides: desk)
    #expect(desk.answer(telling: attention) == nil)
    try asker.waitUntilAsked(1)
    let offer = Offer(transfer: nil, contents: .folders([]), items: 0, bytes: 0, allocated: 0, flags: [])
    try consent.require(ConsentQuestion(offer: offer, label: "", address: "", availableBytes: nil)) { true }
  }
}
