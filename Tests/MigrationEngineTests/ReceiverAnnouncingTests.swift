import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// A receiver is announced on its networks while a sender may pair or come back, and only then.
@Suite struct ReceiverAnnouncingTests {
  private typealias Script = ReceiverScript

  @Test func `a receiver is announced once it listens, and not before`() {
    var script = Script()
    expect(script.feed(.begin), is: ["take back"])
    expect(script.feed(.tookBack(.success([]))), is: ["listen"])
    let listening = Listening(addresses: ["::1"], port: 7, isAnnounced: true)
    expect(
      script.feed(.listening(.success(listening))), is: ["tell listening [\"::1\"] 7 []", "make code", "announce"])
  }

  @Test func `a receiver without a network address is not announced`() {
    var script = Script()
    script.open()
    expect(!script.engine.isAnnounced)
  }

  @Test func `a receiver stays announced while its sender may come back, until the run ends`() {
    var script = Script()
    script.open(isAnnounced: true)
    script.pair()
    expect(script.engine.isAnnounced)
    _ = script.feed(.broke(Script.id(1), Script.cut))
    expect(script.engine.isAnnounced)
    expect(script.feed(.stop(.interrupted)).contains("withdraw announcement"))
    expect(!script.engine.isAnnounced)
  }

  @Test func `a receiver is not announced once it judges no more codes`() {
    var settings = Script.settings()
    settings.asksRestart = true
    var script = Script(settings)
    script.open(isAnnounced: true)
    _ = script.spendCodes()
    expect(!script.engine.isAnnounced)
    expect(script.feed(.answered(true)).contains("announce"))
  }

  @Test func `a transfer of an earlier run can be continued even if no more codes are judged`() {
    var settings = Script.settings()
    settings.asksRestart = true
    var script = Script(settings)
    script.open([Script.known(1, key: 1)], isAnnounced: true)
    _ = script.spendCodes()
    expect(script.engine.isAnnounced)
  }
}
