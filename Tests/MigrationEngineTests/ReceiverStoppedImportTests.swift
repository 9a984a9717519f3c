import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// The import after the user has stopped the run.
@Suite struct ReceiverStoppedImportTests {
  private typealias Script = ReceiverScript
  private let number = SessionNumber(1)

  /// A receiver that imports.
  private static func importing(_ settings: ReceiverEngine.Settings = Script.settings()) -> ReceiverScript {
    var script = Script(settings)
    script.open()
    script.receive()
    script.conclude()
    return script
  }

  @Test func `an import that makes progress is not broken off by a stop, and its result ends the run`() {
    var script = Self.importing()
    expect(script.feed(.stop(.terminated)), is: ["interrupt import 100"])
    script.goOn(seconds: 60)
    expect(script.feed(.stop(.interrupted)), is: ["interrupt import 100"])
    expect(script.imported().last, is: "say 1 done 5/50")
    expect(script.feed(.stop(.interrupted)), is: [])
    let ending = script.say(.receipt)
    expect(ending.contains { $0.hasPrefix("close 1 until 60.4") })
    _ = script.feed(.noted(Script.transfer))
    expect(script.feed(.closed(Script.id(1))).map { $0.prefix(13) }, is: ["finish: 5/50,"])
  }

  @Test func `an import that the user has broken off ends the run with the signal's outcome`() {
    var script = Script()
    script.open()
    script.receive()
    script.conclude()
    _ = script.feed(.stop(.terminated))
    let cancelled = Failure(.importCancelled, "the import was broken off")
    expect(
      script.imported(.failure(cancelled)),
      is: [
        "say 1 close 10 cause 10", "close gate 1", "close 1 until 0.4",
      ])
    expect(script.feed(.closed(Script.id(1))), is: ["finish: 143 the import was broken off"])
  }

  @Test func `a stop between FINISH and the import reaches the import`() {
    var script = Script()
    script.open()
    script.receive()
    _ = script.finish()
    expect(script.feed(.stop(.terminated)), is: [])
    expect(script.feed(.syncEnded(number, nil)), is: ["import 100 of 1: 5/50", "interrupt import 100"])
  }

  @Test func `a sender that comes during an import after a stop gets its result, if the import makes progress`() {
    var script = Self.importing()
    _ = script.feed(.stop(.terminated))
    script.resume(3, key: 1)
    expect(script.engine.nextMoment, is: EndLimits.importProgress)
    script.goOn(seconds: 10)
    expect(script.askAgain(2, on: 3), is: [])
    expect(script.imported().last, is: "say 3 done 5/50")
  }

  // MARK: A hanging import

  private static let left = [
    "say 1 close 2", "close gate 1", "close 1 until 1.4",
  ]

  @Test func `a hanging import is left to the next run, and its sender is told`() {
    var script = Self.importing()
    _ = script.feed(.stop(.terminated))
    expect(script.engine.nextMoment, is: EndLimits.importProgress)
    expect(script.feed(.stop(.interrupted), after: 0.9), is: ["interrupt import 100"])
    expect(script.feed(.timePassed, after: 0.1), is: Self.left)
    expect(script.engine.nextMoment, is: 1 + EndLimits.lastMessages)
    expect(script.feed(.closed(Script.id(1))), is: [])
    expect(script.feed(.timePassed, after: 0.4), is: ["finish: 130 interrupted"])
    expect(script.imported(), is: [])
  }

  @Test func `work that hangs before an import delays a stop no longer than that`() {
    for isDropping in [false, true] {
      var script = Script()
      script.open()
      script.pair()
      script.plan()
      script.take(held: Tally(items: 1, bytes: 1), telling: [1])
      if isDropping { _ = script.say(.drop([1])) }
      _ = script.finish()
      if isDropping { _ = script.feed(.syncEnded(number, nil)) }
      expect(script.feed(.stop(.terminated)), is: [])
      expect(script.feed(.timePassed, after: 1).filter { $0 != "end sync 1" }, is: Self.left)
      // The end of this work begins no import.
      expect(script.feed(isDropping ? .dropped(number, nil) : .syncEnded(number, nil)), is: [])
      expect(script.feed(.closed(Script.id(1))), is: ["finish: 143 interrupted"])
    }
  }

  @Test func `an import that hangs after its sender has disconnected is left to the next run`() {
    var script = Self.importing()
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.closed(Script.id(1)))
    expect(script.engine.nextMoment == nil)
    _ = script.feed(.stop(.terminated), after: 7)
    expect(script.feed(.timePassed, after: 0.9), is: [])
    expect(script.feed(.timePassed, after: 0.1), is: [])
    expect(script.feed(.timePassed, after: 0.4), is: ["finish: 143 interrupted"])
  }

  @Test func `an import that was left to the next run, and ends in time, decides the outcome`() {
    for (result, outcome) in [
      (Result<Done, Failure>.success(Script.done), "finish: 5/50,"), (.failure(Script.broken), "finish: 143 i"),
    ] {
      var script = Self.importing()
      _ = script.feed(.stop(.terminated))
      _ = script.feed(.timePassed, after: 1)
      expect(script.imported(result).count, is: (outcome == "finish: 5/50," ? 1 : 0))
      expect(script.feed(.closed(Script.id(1))).map { $0.prefix(13) }, is: [outcome.prefix(13)])
    }
  }

  @Test func `an import that has to clean up has time for that`() {
    var settings = Script.settings()
    settings.graceAtTheEnd = 5
    var script = Self.importing(settings)
    _ = script.feed(.stop(.terminated))
    expect(script.engine.nextMoment, is: 5 + EndLimits.importProgress)
    expect(script.feed(.timePassed, after: 5.9), is: [])
    expect(script.feed(.timePassed, after: 0.1).first, is: Self.left.first)
  }

  @Test func `an import that begins after a stop has its own time`() {
    var script = Script()
    script.open()
    script.receive()
    _ = script.finish()
    _ = script.feed(.stop(.terminated))
    _ = script.feed(.syncEnded(number, nil), after: 0.9)
    expect(script.engine.nextMoment, is: 0.9 + EndLimits.importProgress)
  }
  @Test func `a finished import is not left to the next run, however often a sender asks after a stop`() {
    var script = Self.importing()
    _ = script.imported()
    _ = script.feed(.stop(.terminated))
    for number in 3...5 as ClosedRange<UInt64> {
      _ = script.feed(.timePassed, after: 0.35)
      script.resume(number, key: 1)
      _ = script.feed(.closed(Script.id(number == 3 ? 1 : number - 1)))
    }
    expect(script.now > EndLimits.importProgress)
    expect(script.feed(.timePassed, after: 0.4).contains { $0.hasPrefix("close 5") })
    expect(script.feed(.closed(Script.id(5))).map { $0.prefix(13) }, is: ["finish: 5/50,"])
  }
}
