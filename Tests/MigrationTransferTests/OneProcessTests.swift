import Expectations
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// Several senders and receivers in one process, at a time.
@Suite struct OneProcessTests {
  /// Both ends of one transfer.
  private struct Ends {
    let (source, destination): (Scratch, Scratch)
    let receiver: RunningReceiver
    let sender: RunningSender
    let content: [UInt8]

    init(_ seed: UInt64, consent: ConsentAsker? = nil) throws {
      (source, destination) = (try Scratch(), try Scratch())
      content = [UInt8](patternData(8 << 20, seed: seed))
      source.write("tree/file", content)
      for number in 0..<100 { source.write("tree/small/\(number)", patternData(number, seed: seed)) }
      receiver = try RunningReceiver(destination, consent: consent)
      sender = try RunningSender([source.at("tree")], to: try receiver.port(), code: try receiver.events.code())
    }

    /// Waits for both, which have to end well.
    func expectArrival() throws {
      let (sent, received) = (try sender.result(), try receiver.result())
      sent.expectAgreement(with: received)
      expect(sent.total.items, is: 103)
      expect(destination.names(), is: ["tree"])
      expect(destination.content("tree/file").map { [UInt8]($0) }, is: content)
    }
  }

  @Test func `two transfers run at a time, and each arrives at its own place`() throws {
    let both = try [1, 2].map { seed in try Ends(seed) }
    for ends in both { try ends.expectArrival() }
  }

  @Test func `the end of one transfer does not end another`() throws {
    let answer = Outcome<Void>(of: "the answer")
    let asked = [1, 2].map { number in Outcome<Void>(of: "question \(number)") }
    let other = try Ends(1) { _, _ in
      asked[0].set(())
      return (try? answer.wait()) == nil ? .no : .yes()
    }
    let stopped = try Ends(2) { _, until in
      asked[1].set(())
      var poller = try? Poller()
      _ = try? poller?.wait(for: .readable, on: until, until: soon())
      return nil
    }
    for question in asked { try question.wait() }
    expect(stopped.sender.stop()?.kind, is: .interrupted)
    expect(stopped.receiver.failure()?.kind, is: .connectionLost)
    try Ends(3).expectArrival()
    answer.set(())
    try other.expectArrival()
    expect(stopped.destination.names(), is: [])
  }
}
