import Expectations
import MigrationEngine
import MigrationWire
import Testing

@testable import MigrationTransfer

/// The questions for a receiver's user: one at a time, and each for as long as its answer is
/// needed.
@Suite struct QuestionTests {
  private static let key = KeyFingerprint(digest: Array(repeating: 7, count: 32))

  private func spent() -> PlayedReceiver {
    let known = ReceiverEngine.EarlierTransfer(
      identifier: 1, client: Self.key, plan: Plan([Part(.folders([Root(kind: .file, name: [1])]), name: "b")]))
    var receiver = PlayedReceiver(asksConsent: true, asksRestart: true, known: [known])
    receiver.spendGuesses()
    return receiver
  }

  /// A sender that is known comes back and offers something; its connection, and its session.
  private func offer(_ receiver: inout PlayedReceiver) -> ConnectionID {
    let (id, _) = receiver.ask(.resume, from: "198.51.100.1", key: Self.key)
    receiver.feed(.ready(id, identifier: 2))
    let greeting = Greeting(role: .sender, label: "old", software: "test", features: [])
    receiver.feed(.received(id, .greeting(greeting)))
    let plan = Plan([Part(.folders([Root(kind: .file, name: [1])]), name: "a")])
    receiver.feed(.received(id, .plan(plan)))
    receiver.feed(
      .planJudged(
        SessionNumber(1), .success([0: .success(ReceiverEngine.Examination(availableBytes: nil))]), session: 5))
    return id
  }

  private func consentQuestions(_ receiver: PlayedReceiver) -> Int {
    receiver.actions.count { if case .ask(.consent) = $0 { true } else { false } }
  }

  @Test func `it is asked once, and the answer is told and taken once`() {
    var receiver = spent()
    let codes = receiver.codes
    for _ in 0..<3 { receiver.feed(.timePassed) }
    expect(receiver.questions(.restart), is: 1)
    receiver.feed(.answered(true))
    receiver.makeCodes()
    expect(receiver.codes, is: codes + 1)
    receiver.feed(.answered(false))
    expect(!receiver.isOver && receiver.questions(.restart) == 1)
  }

  @Test func `nothing reads while something else is asked, and afterwards it is asked again`() {
    var receiver = spent()
    let connection = offer(&receiver)
    // The terminal is free only when the question has ended.
    expect(receiver.withdrawals == 1 && consentQuestions(receiver) == 0)
    receiver.feed(.answered(nil))
    expect(consentQuestions(receiver) == 1 && receiver.questions(.restart) == 1)
    receiver.feed(.broke(connection, Failure(.connection, "it was cut")))
    expect(receiver.withdrawals == 2 && receiver.questions(.restart) == 1)
    receiver.feed(.closed(connection))
    receiver.feed(.answered(nil))
    expect(receiver.questions(.restart), is: 2)
  }

  @Test func `an answer that came too late counts for nothing`() {
    var receiver = spent()
    let codes = receiver.codes
    let connection = offer(&receiver)
    receiver.feed(.answered(true))
    receiver.feed(.broke(connection, Failure(.connection, "it was cut")))
    receiver.feed(.closed(connection))
    receiver.feed(.answered(true))
    receiver.makeCodes()
    expect(receiver.codes == codes && receiver.questions(.restart) == 2)
  }

  @Test func `a question about an offer replaces this one`() {
    var receiver = spent()
    _ = offer(&receiver)
    receiver.feed(.answered(nil))
    let said = receiver.feed(.answered(true))
    expect(said.contains { if case .record = $0 { true } else { false } })
    expect(receiver.questions(.restart), is: 1)
  }
}
