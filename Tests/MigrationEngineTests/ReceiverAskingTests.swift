import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// The requests of connections after the TLS handshake, as the receiver's engine judges them.
@Suite struct ReceiverAskingTests {
  private typealias Script = ReceiverScript

  private func opened(_ known: [ReceiverEngine.EarlierTransfer] = []) -> Script {
    var script = Script()
    script.open(known)
    return script
  }

  // MARK: Requests

  @Test func `the user is told once about each of the first eight addresses that may not pair`() {
    var script = opened()
    for number in 1...10 as ClosedRange<UInt64> {
      for again in [0, 100] as [UInt64] {
        script.come(number + again, host: "h\(number)", mayPair: false)
        let notice =
          number <= 8 && again == 0 ? ["tell notice h\(number) wants to pair, and is not allowed to"] : []
        expect(
          script.ask(number + again), is: notice + ["turn away \(number + again): notPairing"])
      }
    }
  }

  @Test func `a known sender is refused as busy, unless replacing the transfer loses nothing`() {
    var script = opened([Script.known(66, key: 6), Script.known(77, key: 7)])
    script.resume(6, key: 6)
    script.come(7)
    expect(script.feed(.asked(Script.id(7), .resume)), is: ["turn away 7: busy"])
    var empty = opened([Script.known(66, key: 6, held: Tally()), Script.known(77, key: 7)])
    empty.resume(6, key: 6)
    empty.come(7)
    expect(empty.feed(.asked(Script.id(7), .resume)), is: ["welcome 7 to resume until 10.0"])
    expect(
      empty.feed(.ready(Script.id(7), identifier: 0)),
      is: [
        "say 6 close 2", "close 6 until 2.0", "converse 7",
        "say 7 greeting of here", "note 66",
      ])
  }

  @Test func `a transfer is not replaced while one of its streams may be writing`() {
    var script = opened([Script.known(77, key: 7)])
    script.receive()
    script.come(7)
    expect(script.feed(.asked(Script.id(7), .resume)), is: ["welcome 7 to resume until 10.0"])
    _ = script.join(2, stream: 0)
    expect(script.feed(.ready(Script.id(7), identifier: 0)), is: ["drop 7"])
    _ = script.feed(.streamEnded(Script.id(2), .over, held: Tally()))
    script.come(8, key: 7)
    expect(script.feed(.asked(Script.id(8), .resume)), is: ["welcome 8 to resume until 10.0"])
  }

  @Test func `a sender that proved the code while another one came back is told to try again`() {
    var script = opened([Script.known(66, key: 6)])
    script.come(1)
    _ = script.ask(1)
    script.come(2)
    _ = script.ask(2)
    script.resume(6, key: 6)
    expect(script.feed(.proved(Script.id(1), isRight: true)), is: ["turn away 1: busy"])
    expect(script.feed(.proved(Script.id(2), isRight: false)), is: ["turn away 2: busy"])
  }

  @Test func `a sender that paired while another one came back is dropped, and its code has ended`() {
    var script = opened([Script.known(66, key: 6, held: Tally())])
    script.come(1)
    _ = script.ask(1)
    _ = script.feed(.proved(Script.id(1), isRight: true))
    script.resume(6, key: 6)
    expect(script.feed(.ready(Script.id(1), identifier: 5)), is: ["drop 1"])
    expect(script.feed(.broke(Script.id(6), Script.cut)).suffix(2), is: ["make code", "note 66"])
  }

  @Test func `only the session's sender may join, while streams may join, and is served for that session`() {
    var script = opened()
    script.pair()
    script.plan()
    script.come(2, key: 1)
    expect(script.feed(.asked(Script.id(2), .join)), is: ["turn away 2: unknownPeer"])
    script.take()
    script.come(3, key: 3)
    expect(script.feed(.asked(Script.id(3), .join)), is: ["turn away 3: unknownPeer"])
    script.come(4, key: 1)
    expect(script.feed(.asked(Script.id(4), .join)), is: ["welcome 4 to join until 10.0"])
    expect(script.feed(.joining(Script.id(4), Join(session: 5, stream: 0))), is: ["refuse stream 4"])
    expect(script.join(5, stream: 0), is: ["serve 5 in 1 as 0"])
  }

  @Test func `a pairing that sends READY twice, or joins, has no effect`() {
    var script = opened()
    script.pair()
    expect(script.feed(.ready(Script.id(1), identifier: 5)), is: [])
    expect(script.feed(.joining(Script.id(1), Join(session: 5, stream: 0))), is: [])
    expect(script.feed(.departed(Script.id(77))), is: [])
  }
}
