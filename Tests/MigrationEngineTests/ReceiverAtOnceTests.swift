import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// A receiver that stays and serves two senders at the same time.
@Suite struct ReceiverAtOnceTests {
  private typealias Script = ReceiverScript

  private let held = Tally(items: 1, bytes: 10)

  private func open(_ known: [ReceiverEngine.EarlierTransfer] = []) -> Script {
    var settings = Script.settings()
    (settings.keeps, settings.atOnce) = (true, 2)
    var script = Script(settings)
    script.open(known)
    return script
  }

  /// Keys 1 and 2 have paired, and send.
  private func full() -> Script {
    var script = open()
    script.begin(1, as: 100)
    script.begin(2, as: 102)
    return script
  }

  private func phase(_ script: Script) -> String { Words.text(script.engine.phase) }

  @Test func `another code is shown at once for the second sender, and a third one is told its place`() {
    var script = open()
    script.pair(1, as: 100)
    expect(script.engine.workers.contains(.makeCode))
    expect(script.feed(.codeMade(.success(Script.code))), is: ["tell code \(Script.code.shown) for 600"])
    script.pair(2, as: 102)
    expect(phase(script), is: "engaged in 100 by 1; engaged in 102 by 2")
    expect(!script.engine.workers.contains(.makeCode))
    script.come(3)
    expect(script.feed(.asked(Script.id(3), .pair)), is: ["turn away 3: busy at 1"])
    // Only the first one to end counts: these two come next.
    expect(script.returns(15, key: 5), is: ["turn away 15: busy at 1"])
    expect(script.returns(16, key: 6), is: ["turn away 16: busy at 2"])
    script.plan(on: 1)
    script.take(1, on: 1)
    script.conclude(1, on: 1)
    _ = script.imported()
    expect(phase(script), is: "engaged in 102 by 2")
    expect(script.returns(26, key: 6), is: ["turn away 26: busy at 1"])
    expect(script.returns(25, key: 5), is: ["welcome 25 to resume until 10.0"])
  }

  @Test func `events about a transfer name it`() {
    var script = full()
    let told = script.feed(.noticed(.staged, of: 102)) + script.feed(.noticed(.staged))
    expect(told, is: ["tell 102: staged", "tell staged"])
  }

  @Test func `a newly paired sender takes nothing from one that has brought nothing yet`() {
    var script = open()
    script.pair(1, as: 100)
    _ = script.feed(.codeMade(.success(Script.code)))
    script.pair(2, as: 102)
    expect(script.engine.transfers.map(\.identifier), is: [100, 102])
  }

  @Test func `the pairings of a wait share its guesses, and one end begins the next wait`() {
    var script = open()
    expect(script.guess(50).contains("tell wrong code 1/3 from h50, 98 left"))
    script.begin(1, as: 100)
    expect(script.guess(51).contains("tell wrong code 1/3 from h51, 96 left"))
    script.begin(2, as: 102)
    script.end(1, as: 100)
    expect(script.guess(52).contains("tell wrong code 1/3 from h52, 98 left"))
    script.end(2, as: 102)
    expect(script.guess(53).contains("tell wrong code 1/3 from h53, 97 left"))
  }

  @Test func `too many wrong codes break off no transfer that is served`() {
    var script = open()
    script.begin(1, as: 100)
    var last: [String] = []
    for number in 101...UInt64(100 + GuessLimit.most - 1) { last = script.guess(number) }
    expect(last.contains("tell codes spent 99 98"))
    expect(phase(script), is: "engaged in 100 by 1")
    // Its end begins the next wait.
    script.end(1, as: 100)
    expect(script.engine.workers.contains(.makeCode))
  }

  @Test func `a sender that is away loses its place only when all are taken`() {
    var script = full()
    script.transfers(held)
    _ = script.feed(.broke(Script.id(2), Script.cut))
    _ = script.feed(.closed(Script.id(2)))
    _ = script.feed(.syncEnded(SessionNumber(2), nil))
    expect(phase(script).hasPrefix("engaged in 100 by 1; away 102 until"))
    expect(script.returns(15, key: 5).first?.hasPrefix("welcome 15"), is: true)
    let begun = script.feed(.ready(Script.id(15), identifier: 105))
    expect(begun.contains { $0.hasPrefix("tell 102: failed 5") })
    expect(phase(script), is: "engaged in 100 by 1; engaged in 105 by 3")
    // Its transfer waits on the disk.
    expect(script.engine.transfers[of: 102]?.holding, is: .released)
  }

  @Test func `a sender that comes back fences off its own session, and no other one`() {
    var script = full()
    script.resume(12, key: 2)
    expect(phase(script), is: "engaged in 100 by 1; engaged in 102 by 3")
    expect(script.engine.sessions[SessionNumber(1)]?.isEnding, is: false)
  }

  @Test func `a sender that comes back to its own import breaks off no other one`() {
    var script = full()
    script.transfers(held)
    script.conclude(1, on: 1)
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.closed(Script.id(1)))
    expect(phase(script), is: "engaged in 102 by 2; engaged in 100")
    script.resume(11, key: 1)
    expect(script.engine.sessions[SessionNumber(2)]?.isEnding, is: false)
    expect(phase(script), is: "engaged in 102 by 2; engaged in 100 by 3")
  }

  @Test func `a sender that has brought nothing and is away loses its place only when all are taken`() {
    var script = open()
    script.begin(1, as: 100)
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.closed(Script.id(1)))
    _ = script.feed(.syncEnded(SessionNumber(1), nil))
    expect(phase(script).hasPrefix("away 100 until"))
    script.begin(2, as: 102)
    expect(phase(script).hasPrefix("away 100 until") && phase(script).hasSuffix("engaged in 102 by 2"))
    expect(script.engine.transfers.map(\.identifier), is: [100, 102])
    script.begin(3, as: 103)
    expect(phase(script), is: "engaged in 102 by 2; engaged in 103 by 3")
  }

  @Test func `a place that an import of an earlier run leaves is shown with a code`() {
    let known = Script.known(77, key: 7, parts: 2, concluded: Script.whole)
    var script = open([known])
    script.begin(1, as: 100)
    expect(phase(script), is: "engaged in 77; engaged in 100 by 1")
    expect(!script.engine.workers.contains(.makeCode))
    let ended = script.feed(.imported(77, .success(Script.done), Traffic(), refused: []))
    expect(phase(script) == "engaged in 100 by 1" && ended.contains("make code"))
  }

  @Test func `a stream joins the session of its key`() {
    var script = full()
    expect(script.join(31, stream: 0, key: 1).first, is: "serve 31 in 1 as 0")
    expect(script.join(32, stream: 0, key: 2).first, is: "serve 32 in 2 as 0")
  }

  @Test func `one of two sessions that do nothing gives way to a third sender`() {
    var script = full()
    script.now += ReceiverEngine.turn + 1
    let asked = script.returns(15, key: 5)
    expect(asked.contains("look for data 1") && asked.contains("look for data 2"))
    let first = script.feed(.lookedForData(SessionNumber(1), lastAt: 0, held: Tally()))
    expect(first.contains { $0.hasPrefix("say 1 close") })
    expect(script.feed(.lookedForData(SessionNumber(2), lastAt: 0, held: Tally())), is: [])
  }

  @Test func `a stop waits for the import of one transfer, and breaks off the other`() {
    var script = full()
    script.conclude(1, on: 1)
    let stopped = script.feed(.stop(.terminated))
    expect(stopped.contains("interrupt import 100"))
    expect(stopped.contains { $0.hasPrefix("say 2 close") })
    expect(phase(script), is: "engaged in 100 by 1")
    _ = script.imported()
    expect(script.say(.receipt, on: 1).isEmpty, is: false)
    expect(phase(script).hasPrefix("finishing"))
  }

  @Test func `the user is asked about one transfer at a time`() {
    var settings = Script.settings()
    (settings.keeps, settings.atOnce, settings.asksConsent) = (true, 2, true)
    var script = Script(settings)
    script.open()
    var asked: [String] = []
    for number in [1, 2] as [UInt64] {
      script.pair(number, as: TransferID(100 + number))
      if number == 1 { _ = script.feed(.codeMade(.success(Script.code))) }
      script.plan(on: number)
      asked += script.feed(Script.planJudged(number, [0])).filter { $0.hasPrefix("ask") }
    }
    expect(asked.count, is: 1)
    expect(script.feed(.answered(true)).contains { $0.hasPrefix("ask") })
  }

  @Test func `a device that cannot make another code goes on with a served sender, and tries again without one`() {
    var script = open()
    script.pair(1, as: 100)
    expect(script.feed(.codeMade(.failure(Failure(.failed, "no thread")))), is: [])
    expect(!script.feed(.timePassed).contains("make code"))
    expect(script.feed(.broke(Script.id(1), Script.cut)).contains("make code"))
  }

  @Test func `imports of earlier runs continue together`() {
    var script = Script(
      {
        var settings = Script.settings()
        (settings.keeps, settings.atOnce) = (true, 2)
        return settings
      }())
    _ = script.feed(.begin)
    _ = script.feed(
      .tookBack(.success([77, 66, 55].map { Script.known($0, key: UInt8($0), concluded: Script.whole) })))
    let listening = script.feed(.listening(.success(Listening(addresses: [], port: 1))))
    expect(listening.suffix(2), is: ["import 77", "import 66"])
    expect(script.feed(.imported(66, .success(Script.done), Traffic(), refused: [])).contains("import 55"))
  }
}

extension ReceiverScript {
  /// A sender pairs, and may send; another code is shown if one is wanted.
  fileprivate mutating func begin(_ number: UInt64, as transfer: TransferID) {
    // Earlier guesses delay it no longer.
    now += 20
    if engine.workers.contains(.makeCode) { _ = feed(.codeMade(.success(Self.code))) }
    pair(number, as: transfer)
    if engine.workers.contains(.makeCode) { _ = feed(.codeMade(.success(Self.code))) }
    plan(on: number)
    take(engine.lastSession, on: number)
  }

  /// The transfer of a session with the number of its connection is done.
  fileprivate mutating func end(_ number: UInt64, as transfer: TransferID) {
    guard let session = engine.sessions.first(where: { $0.value.transfer == transfer })?.key.value else { return }
    conclude(session, on: number)
    _ = feed(.imported(transfer, .success(Self.done), Traffic(), refused: []))
  }

  /// Something of both transfers has arrived.
  fileprivate mutating func transfers(_ held: Tally) {
    for transfer in engine.transfers { engine.transfers[of: transfer.identifier]?.note(held: held) }
  }

  /// A stranger proves a wrong code.
  fileprivate mutating func guess(_ number: UInt64) -> [String] {
    now += 700
    _ = feed(.timePassed)
    if engine.workers.contains(.makeCode) { _ = feed(.codeMade(.success(Self.code))) }
    come(number, host: "h\(number)", key: 99)
    _ = ask(number)
    let told = feed(.proved(Self.id(number), isRight: false))
    if told.contains("make code") { _ = feed(.codeMade(.success(Self.code))) }
    _ = feed(.departed(Self.id(number)))
    return told
  }

  /// A known sender comes and asks for a session.
  fileprivate mutating func returns(_ number: UInt64, key: UInt8) -> [String] {
    come(number, key: key, isOfDevice: true)
    return feed(.asked(Self.id(number), .resume))
  }
}
