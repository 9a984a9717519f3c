import MigrationWire
import Testing

@testable import MigrationEngine

/// When a receiver is made known on its networks: while a sender may pair or come back, and only then.
@Suite struct ReceiverAnnouncingTests {
  private typealias Script = ReceiverScript

  @Test func `a receiver is announced when it listens, and not before`() {
    var script = Script()
    #expect(script.feed(.begin) == ["take back"])
    #expect(script.feed(.tookBack(.success([]))) == ["listen"])
    let listening = Listening(addresses: ["::1"], port: 7, isAnnounced: true)
    #expect(script.feed(.listening(.success(listening))) == ["tell listening [\"::1\"] 7 []", "make code", "announce"])
  }

  @Test func `one that cannot be reached over a network is not announced`() {
    var script = Script()
    script.open()
    #expect(!script.engine.isAnnounced)
  }

  @Test func `it stays so through a pairing, since the sender may come back, and ends with the run`() {
    var script = Script()
    script.open(isAnnounced: true)
    script.pair()
    #expect(script.engine.isAnnounced)
    _ = script.feed(.broke(Script.id(1), Script.cut))
    #expect(script.engine.isAnnounced)
    #expect(script.feed(.stop(.interrupted)).contains("withdraw announcement"))
    #expect(!script.engine.isAnnounced)
  }

  @Test func `when no code is judged any more there is nothing to come for`() {
    var settings = Script.settings()
    settings.asksRestart = true
    var script = Script(settings)
    script.open(isAnnounced: true)
    _ = script.spendCodes()
    #expect(!script.engine.isAnnounced)
    #expect(script.feed(.answered(true)).contains("announce"))
  }

  @Test func `what an earlier run left can be continued, also when no code is judged any more`() {
    var settings = Script.settings()
    settings.asksRestart = true
    var script = Script(settings)
    script.open([Script.known(1, key: 1)], isAnnounced: true)
    _ = script.spendCodes()
    #expect(script.engine.isAnnounced)
  }
}
