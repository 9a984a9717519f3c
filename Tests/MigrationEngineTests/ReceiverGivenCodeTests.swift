import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// A code that was given to this device.
@Suite struct ReceiverGivenCodeTests {
  private typealias Script = ReceiverScript

  private static func script() -> Script {
    var settings = Script.settings()
    settings.hasGivenCode = true
    var script = Script(settings)
    _ = script.feed(.begin)
    _ = script.feed(.tookBack(.success([])))
    _ = script.feed(.listening(.success(Listening(addresses: [], port: 1))))
    return script
  }

  @Test func `a given code is awaited, and not shown`() {
    var script = Self.script()
    expect(script.feed(.codeMade(.success(Script.code))), is: ["tell code awaited for 600"])
    script.receive()
    expect(Words.text(script.engine.phase), is: "engaged in 100 by 1")
  }

  @Test func `a sender that comes before the code is ready is told to come again`() {
    var script = Self.script()
    script.come(1)
    expect(script.ask(1), is: ["turn away 1: busy"])
    _ = script.feed(.codeMade(.success(Script.code)))
    script.come(2)
    expect(script.ask(2), is: ["exchange 2 until 10.0"])
  }

  @Test func `no other code follows an expired given code, and the run ends`() {
    var script = Self.script()
    _ = script.feed(.codeMade(.success(Script.code)))
    expect(
      script.feed(.timePassed, after: 600), is: ["forget code", "finish: 3 the code that was given has expired"])
  }

  @Test func `the run ends when the three tries of a given code are spent`() {
    var script = Self.script()
    _ = script.feed(.codeMade(.success(Script.code)))
    for number in 1...3 as ClosedRange<UInt64> {
      script.come(number)
      _ = script.ask(number)
      _ = script.feed(.proved(Script.id(number), isRight: false))
      _ = script.feed(.departed(Script.id(number)))
    }
    expect(Words.text(script.engine.phase), is: "over")
  }

  @Test func `a sender that has paired with the given code may come back, and no other sender may pair`() {
    var script = Self.script()
    _ = script.feed(.codeMade(.success(Script.code)))
    script.pair()
    _ = script.feed(.broke(Script.id(1), Script.cut))
    expect(script.feed(.closed(Script.id(1))), is: [])
    expect(Words.text(script.engine.phase).hasPrefix("away 100"))
    script.come(2)
    _ = script.feed(.asked(Script.id(2), .pair))
    expect(script.feed(.shared(Script.id(2))), is: ["turn away 2: notPairing"])
  }
}
