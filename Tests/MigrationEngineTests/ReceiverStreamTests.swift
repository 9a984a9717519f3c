import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// Data streams, and the items that the sender drops, as the receiver's engine decides.
@Suite struct ReceiverStreamTests {
  private typealias Script = ReceiverScript
  private let number = SessionNumber(1)

  // MARK: Streams

  @Test func `a replaced stream ends before its replacement is served`() {
    var script = Script.receiving()
    expect(script.join(2, stream: 0), is: ["serve 2 in 1 as 0"])
    expect(script.join(3, stream: 1), is: ["serve 3 in 1 as 1"])
    expect(script.join(4, stream: 2, replaces: 0), is: ["end stream 2"])
    expect(script.feed(.streamEnded(Script.id(3), .over, held: Tally())), is: [])
    expect(script.feed(.streamEnded(Script.id(2), .over, held: Tally())), is: ["serve 4 in 1 as 2"])
    // The replacement of a stream that has ended waits for nothing.
    expect(script.join(5, stream: 3, replaces: 0), is: ["serve 5 in 1 as 3"])
  }

  @Test func `the refusal of a stream names the numbers`() {
    var script = Script.receiving()
    _ = script.join(2, stream: 0)
    expect(script.refusal(3, stream: 0), is: "stream 0 cannot join, since a stream of that number has joined before")
    _ = script.join(4, stream: 9, replaces: 8)
    expect(script.refusal(5, stream: 3), is: "stream 3 may have been replaced, so the next number is at least 10")
    expect(script.refusal(21, stream: 8), is: "stream 8 may have been replaced, so the next number is at least 10")
    expect(script.refusal(22, stream: 11, replaces: 11), is: "stream 11 cannot replace itself")
    _ = script.join(6, stream: 20, replaces: 19)
    expect(
      script.refusal(7, stream: 30, session: 0xAB),
      is: "a stream of session 000000000000000000000000000000ab cannot join, since session "
        + "\(Script.session.hexadecimal) is running")
    var full = Script.receiving()
    for number in 0..<16 as Range<UInt64> { _ = full.join(number + 2, stream: UInt32(number)) }
    expect(full.refusal(50, stream: 16), is: "stream 16 cannot join, since 16 of 16 streams have joined")
  }

  @Test func `a number that was used or replaced can no longer join`() {
    var script = Script.receiving()
    _ = script.join(2, stream: 0)
    expect(script.join(3, stream: 0), is: ["refuse stream 3"])
    _ = script.feed(.streamEnded(Script.id(2), .over, held: Tally()))
    expect(script.join(4, stream: 0), is: ["refuse stream 4"])
    expect(script.join(5, stream: 2, replaces: 1), is: ["serve 5 in 1 as 2"])
    expect(script.join(6, stream: 1), is: ["refuse stream 6"])
  }

  @Test func `the replacement of a stream that never came ends every stream that it may have replaced`() {
    var script = Script.receiving()
    _ = script.join(2, stream: 0)
    _ = script.join(3, stream: 1)
    expect(script.join(4, stream: 3, replaces: 2), is: ["end stream 2", "end stream 3"])
    expect(script.feed(.streamEnded(Script.id(3), .over, held: Tally())), is: [])
    expect(script.feed(.streamEnded(Script.id(2), .over, held: Tally())), is: ["serve 4 in 1 as 3"])
  }

  @Test func `the replacement of a waiting replacement is served, and the replacement between them is not`() {
    var script = Script.receiving()
    _ = script.join(2, stream: 0)
    expect(script.join(3, stream: 1, replaces: 0), is: ["end stream 2"])
    expect(script.join(4, stream: 2, replaces: 1), is: ["end stream 2", "refuse stream 3"])
    expect(script.feed(.streamEnded(Script.id(2), .over, held: Tally())), is: ["serve 4 in 1 as 2"])
  }

  @Test func `waiting streams are dropped when a later stream that never came is replaced, its replacement waits`() {
    var script = Script.receiving()
    _ = script.join(2, stream: 0)
    _ = script.join(3, stream: 1, replaces: 0)
    // Stream 2 may or may not have replaced stream 1.
    expect(script.join(4, stream: 3, replaces: 2), is: ["end stream 2", "refuse stream 3"])
    expect(script.join(5, stream: 4, replaces: 1), is: ["end stream 2"])
    expect(
      script.feed(.streamEnded(Script.id(2), .over, held: Tally())), is: ["serve 4 in 1 as 3", "serve 5 in 1 as 4"])
  }

  @Test
  func
    `a stream older than the replacement of a later stream cannot join, and its own replacement waits for all before`()
  {
    var script = Script.receiving()
    _ = script.join(2, stream: 0)
    expect(script.join(4, stream: 3, replaces: 2), is: ["end stream 2"])
    expect(script.join(3, stream: 1, replaces: 0), is: ["refuse stream 3"])
    // Stream 3 has not joined: it may have replaced any stream, including a waiting one.
    expect(script.join(5, stream: 4, replaces: 1), is: ["end stream 2", "refuse stream 4"])
    expect(script.feed(.streamEnded(Script.id(2), .over, held: Tally())), is: ["serve 5 in 1 as 4"])
    expect(script.join(6, stream: 2), is: ["refuse stream 6"])
  }

  @Test func `the replacement of a stream that never came ends all streams and waiting ones, of any number`() {
    var script = Script.receiving()
    _ = script.join(2, stream: 0)
    _ = script.join(3, stream: 5)
    expect(script.join(4, stream: 6, replaces: 5), is: ["end stream 3"])
    expect(script.join(5, stream: 7, replaces: 4), is: ["end stream 2", "end stream 3", "refuse stream 4"])
    expect(script.feed(.streamEnded(Script.id(2), .over, held: Tally())), is: [])
    expect(script.feed(.streamEnded(Script.id(3), .over, held: Tally())), is: ["serve 5 in 1 as 7"])
  }

  @Test func `a stream may replace one with a greater number, and never itself`() {
    var script = Script.receiving()
    _ = script.join(2, stream: 5)
    expect(script.join(3, stream: 4, replaces: 4), is: ["refuse stream 3"])
    expect(script.join(4, stream: 4, replaces: 5), is: ["end stream 2"])
    expect(script.feed(.streamEnded(Script.id(2), .over, held: Tally())), is: ["serve 4 in 1 as 4"])
  }

  @Test func `a stream with READY and without JOIN begins no session`() {
    var script = Script.receiving()
    script.welcomeStream(5)
    expect(script.feed(.ready(Script.id(5), identifier: 0)), is: ["drop 5"])
  }

  @Test func `sixteen streams are served at a time`() {
    var script = Script.receiving()
    for stream in 0..<16 as Range<UInt32> {
      expect(script.join(100 + UInt64(stream), stream: stream), is: ["serve \(100 + stream) in 1 as \(stream)"])
    }
    expect(script.join(200, stream: 16), is: ["refuse stream 200"])
    _ = script.feed(.streamEnded(Script.id(100), .over, held: Tally()))
    expect(script.join(201, stream: 17), is: ["serve 201 in 1 as 17"])
  }

  @Test func `waiting streams are closed when their session ends`() {
    var script = Script.receiving()
    _ = script.join(2, stream: 0)
    _ = script.join(3, stream: 1, replaces: 0)
    expect(
      script.feed(.broke(Script.id(1), Failure(.violation, "broken"))),
      is: [
        "say 1 close 3 broken", "close gate 1", "drop 3", "end stream 2", "end sync 1", "close 1 until 2.0",
      ])
    expect(script.feed(.streamEnded(Script.id(2), .over, held: Tally())), is: [])
  }

  @Test func `waiting streams are not served while a session settles`() {
    var script = Script.receiving()
    _ = script.join(2, stream: 0)
    _ = script.join(4, stream: 4)
    _ = script.join(3, stream: 1, replaces: 0)
    _ = script.feed(.broke(Script.id(1), Script.cut))
    expect(script.feed(.streamEnded(Script.id(2), .over, held: Tally())), is: [])
    expect(script.feed(.streamEnded(Script.id(4), .over, held: Tally())).contains("drop 3"))
  }

  // MARK: Items that the source no longer has

  @Test func `items are dropped in turn, and the end of the export waits for the last of them`() {
    var script = Script.paired()
    script.plan()
    _ = script.offer()
    _ = script.feed(.staged(number, .success(Script.admitted())))
    _ = script.feed(Script.part([1, 2]))
    _ = script.feed(.drained(Script.id(1)))
    _ = script.feed(Script.part([3], end: Tally(items: 3, bytes: 3)))
    expect(script.say(.drop([1])), is: ["drop items 1: [1]"])
    expect(script.say(.drop([2])), is: [])
    expect(script.say(.drop([3])), is: [])
    _ = script.finish()
    expect(script.feed(.dropped(number, nil)), is: ["drop items 1: [2]"])
    expect(script.feed(.dropped(number, nil)), is: ["drop items 1: [3]"])
    expect(script.feed(.dropped(number, nil)), is: [])
    expect(script.feed(.syncEnded(number, nil)), is: ["import 100 of 1: 5/50"])
  }

  @Test func `a sender cannot drop more items than the ledger listed`() {
    var script = Script.paired()
    script.plan()
    _ = script.offer()
    _ = script.feed(.staged(number, .success(Script.admitted())))
    _ = script.feed(Script.part([1, 2, 3], end: Tally(items: 3, bytes: 3)))
    expect(script.say(.drop([1, 2])), is: ["drop items 1: [1, 2]"])
    var other = script
    expect(other.say(.drop([3])), is: [])
    // One too many, in the right order.
    expect(script.say(.drop([3, 4])).first?.hasPrefix("say 1 close 3"), is: true)
  }

  @Test func `an import begins at once after FINISH if no sync is running`() {
    var script = Script.receiving()
    expect(script.feed(.syncEnded(number, nil)), is: [])
    expect(script.finish(), is: ["shut gate 1", "import 100 of 1: 5/50"])
  }
}
