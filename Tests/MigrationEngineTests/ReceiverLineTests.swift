import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// The line of a receiver that stays: who is served next.
@Suite struct ReceiverLineTests {
  private typealias Script = ReceiverScript

  /// A receiver that serves key 1, for which keys 5 and 6 wait in this order.
  private func waiting() -> Script {
    var script = Script.staying()
    script.open()
    script.receive()
    expect(script.returns(15, key: 5), is: ["turn away 15: busy at 1"])
    expect(script.returns(16, key: 6), is: ["turn away 16: busy at 2"])
    return script
  }

  /// The served transfer is done, and another code is shown.
  private func finish(_ script: inout Script) {
    script.conclude()
    _ = script.imported()
    _ = script.feed(.codeMade(.success(Script.code)))
  }

  @Test func `known senders are served in the order in which they came, each device once`() {
    var script = waiting()
    expect(script.returns(25, key: 5), is: ["turn away 25: busy at 1"])
    finish(&script)
    expect(script.returns(26, key: 6), is: ["turn away 26: busy at 1"])
    expect(script.returns(35, key: 5), is: ["welcome 35 to resume until 10.0"])
    _ = script.feed(.ready(Script.id(35), identifier: 205))
    // A device that is served stands behind all others when it comes again.
    expect(script.returns(36, key: 6), is: ["turn away 36: busy at 1"])
    expect(script.returns(37, key: 7), is: ["turn away 37: busy at 2"])
  }

  @Test func `the receiver lets a sender with a code in only when no known device waits`() {
    var script = waiting()
    script.come(17)
    expect(script.ask(17), is: ["turn away 17: busy at 3"])
    finish(&script)
    script.come(27)
    expect(script.ask(27), is: ["turn away 27: busy at 2"])
    // Those that wait come no more.
    script.now += 2 + ReceiverLine.patience
    script.come(37)
    expect(script.ask(37).first?.hasPrefix("exchange 37"), is: true)
  }

  @Test func `a sender that comes no more loses its turn`() {
    var script = waiting()
    finish(&script)
    script.now += 1 + ReceiverLine.patience - 0.001
    expect(script.returns(26, key: 6), is: ["turn away 26: busy at 1"])
    script.now += 0.001
    expect(script.returns(36, key: 6).first?.hasPrefix("welcome 36"), is: true)
  }

  @Test func `a transfer that comes back waits in the line too, and its result is told to it at once`() {
    var script = Script.stayingAndAnswered()
    _ = script.feed(.codeMade(.success(Script.code)))
    script.pair(2, as: 101)
    expect(script.returns(15, key: 5), is: ["turn away 15: busy at 1"])
    expect(script.returns(11, key: 1, isOfDevice: false), is: ["welcome 11 to resume until 10.0"])
    // In a run that does not stay, there is no line.
    var single = Script.receiving()
    expect(single.returns(15, key: 5), is: ["turn away 15: busy"])
  }

  @Test func `a transfer that gave way has no place`() {
    var script = waiting()
    script.now += ReceiverEngine.turn + 1
    script.come(18)
    _ = script.ask(18)
    _ = script.feed(.lookedForData(SessionNumber(1), lastAt: 0, held: Tally()))
    expect(script.returns(11, key: 1, isOfDevice: false), is: ["turn away 11: busy"])
  }
}

extension ReceiverScript {
  /// A known sender comes and asks for a session.
  fileprivate mutating func returns(_ number: UInt64, key: UInt8, isOfDevice: Bool = true) -> [String] {
    come(number, key: key, isOfDevice: isOfDevice)
    return feed(.asked(Self.id(number), .resume))
  }
}
