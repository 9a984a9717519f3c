import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// The user of a receiver forgets a device that has a transfer here.
@Suite struct ReceiverForgettingTests {
  private typealias Script = ReceiverScript

  private let first = SessionNumber(1)

  private func phase(_ script: Script) -> String { Words.text(script.engine.phase) }

  @Test(arguments: [true, false])
  func `its session ends, what is staged is removed, and its key is a stranger's`(keeps: Bool) throws {
    var script = keeps ? Script.staying() : Script()
    script.open()
    script.receive()
    let told = script.feed(.forgotten(Script.transfer))
    expect(told.contains { $0.hasPrefix("say 1 close 12 cause 12") }, "\(told)")
    _ = script.feed(.closed(Script.id(1)))
    let over = script.feed(.syncEnded(first, nil))
    // The note of its progress comes first, as after each session.
    let gone = script.feed(.noted(Script.transfer))
    expect(gone.contains("discard 100"))
    // A receiver that does not stay ends with that.
    let words = over + gone + [phase(script)]
    expect(words.contains { $0.contains("the other device was forgotten here") }, "\(words)")
    guard keeps else { return expect(phase(script).hasPrefix("finishing")) }
    expect(phase(script) == "open" && script.engine.transfers.isEmpty)
    _ = script.feed(.codeMade(.success(Script.code)))
    script.come(2, key: 1)
    expect(script.feed(.asked(Script.id(2), .resume)).last, is: "turn away 2: unknownPeer")
  }

  @Test func `a transfer whose sender is away is removed, and a place is free`() {
    var script = Script.staying()
    script.open()
    script.receive()
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.closed(Script.id(1)))
    _ = script.feed(.syncEnded(first, nil))
    _ = script.feed(.noted(Script.transfer))
    expect(phase(script).hasPrefix("away 100"))
    let told = script.feed(.forgotten(Script.transfer))
    expect(told.contains("discard 100") && phase(script) == "open", "\(told)")
    expect(script.engine.transfers.isEmpty)
  }

  @Test func `an import that runs is completed, and nothing follows it`() {
    var script = Script.staying()
    script.open()
    script.pair()
    script.plan(Script.plan(parts: 2))
    script.agree(1, [0, 1])
    script.take()
    script.conclude()
    let told = script.feed(.forgotten(Script.transfer))
    expect(told.contains { $0.hasPrefix("say 1 close 12") } && !told.contains("discard 100"), "\(told)")
    _ = script.feed(.closed(Script.id(1)))
    expect(phase(script), is: "engaged in 100")
    expect(script.imported().contains("discard 100"))
    expect(phase(script) == "open" && script.engine.transfers.isEmpty)
  }

  @Test func `a device that is forgotten before its plan is recorded has none`() {
    var script = Script.staying()
    script.open()
    script.pair()
    script.plan()
    _ = script.feed(Script.planJudged(1, [0]))
    let told = script.feed(.recorded(first, .forgotten))
    expect(told.contains { $0.hasPrefix("say 1 close 12") } && !told.contains { $0.hasPrefix("say 1 verdict") })
    _ = script.feed(.closed(Script.id(1)))
    expect(script.engine.transfers.isEmpty && phase(script) == "open")
  }

  @Test func `a transfer that is not here changes nothing`() {
    var script = Script.receiving()
    expect(script.feed(.forgotten(999)), is: [])
  }
}
