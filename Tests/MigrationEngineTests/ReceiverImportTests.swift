import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// Refusals and imports, as the receiver's engine decides.
@Suite struct ReceiverImportTests {
  private typealias Script = ReceiverScript
  private let number = SessionNumber(1)

  // MARK: Refusals

  @Test func `refusals are reported to both users as they come, and all again to a sender that comes back`() {
    var script = Script.receiving()
    expect(
      script.feed(.refused(Script.transfer, [Script.refusal("a"), Script.refusal("b")])),
      is: [
        "tell not stored root/a", "tell not stored root/b", "say 1 not stored root/a", "say 1 not stored root/b",
      ])
    expect(
      script.feed(.refused(Script.transfer, [Script.refusal("c")])),
      is: [
        "tell not stored root/c", "say 1 not stored root/c",
      ])
    _ = script.feed(.broke(Script.id(1), Script.cut))
    expect(script.feed(.refused(Script.transfer, [Script.refusal("d")])), is: ["tell not stored root/d"])
    _ = script.feed(.syncEnded(number, nil))
    script.resume(3, key: 1)
    script.plan(Script.plan(Script.transfer), on: 3)
    _ = script.offer(2, on: 3)
    expect(script.feed(.refused(Script.transfer, [Script.refusal("e")])), is: ["tell not stored root/e"])
    _ = script.feed(.staged(SessionNumber(2), .success(Script.admitted())))
    let end = LedgerPage(pages: [], partials: [], end: Tally())
    let names = ["a", "b", "c", "d", "e"]
    expect(
      script.feed(.ledger(SessionNumber(2), .success(end))),
      is: ["tell resumed 0", "open gate 2", "say 3 held end 0/0"]
        + names.map { "tell not stored root/\($0)" } + names.map { "say 3 not stored root/\($0)" })
  }

  @Test func `the importer learns which items the source could not read`() {
    var script = Script()
    script.open()
    script.receive()
    _ = script.say(.notStored(NotStored(path: [97], .unreadable)))
    _ = script.say(.notStored(NotStored(path: [98], .vanished)))
    _ = script.finish()
    let actions = script.engine.handle(.syncEnded(SessionNumber(1), nil), now: 0)
    let unreadable = actions.compactMap {
      if case .importItems(_, _, _, let unsent) = $0 { unsent.unreadable } else { nil }
    }
    expect(unreadable, is: [[[97]]])
  }

  @Test func `refusals at the import are sent before DONE`() {
    var script = Script.receiving()
    script.conclude()
    expect(
      script.feed(.refused(Script.transfer, [Script.refusal("a")])),
      is: [
        "tell not stored root/a", "say 1 not stored root/a",
      ])
    expect(script.imported().last, is: "say 1 done 5/50")
  }

  @Test func `before DONE a returning sender learns the items not stored, and the user if this run has not told`() {
    var script = Script.receiving()
    _ = script.feed(.refused(Script.transfer, [Script.refusal("gone"), Script.refusal("a")]))
    _ = script.finish()
    expect(script.feed(.syncEnded(number, nil)), is: ["import 100 of 1: 5/50"])
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.imported(refused: [Script.refusal("a")])
    script.resume(3, key: 1)
    // Items that the source no longer had at the export are not named again.
    expect(script.askAgain(2, on: 3), is: ["say 3 not stored root/a", "say 3 done 5/50"])
  }

  @Test func `items that an earlier run did not store are reported to both ends, and to the user once`() {
    var script = Script()
    script.open([Script.known(66, key: 6, finished: [0], notStored: [Script.refusal("a")])])
    script.resume(6, key: 6)
    expect(
      script.askAgain(1, on: 6, 66),
      is: [
        "tell not stored root/a", "tell renamed root/x to root/x (2)", "say 6 not stored root/a", "say 6 done 5/50",
      ])
    script.resume(7, key: 6)
    expect(script.askAgain(2, on: 7, 66), is: ["say 7 not stored root/a", "say 7 done 5/50"])
    expect(
      script.say(.receipt, on: 7),
      is: [
        "close 7 until 2.0", "tell done 5/50, sent 0-0 in 0, held 50, unsent 3, left 0+0, not stored 1, concluded 1200",
        "forget 66",
      ])
  }

  @Test func `items that the sender leaves out in a session are reported again in the next one`() {
    var script = Script.receiving()
    _ = script.say(.notStored(NotStored(path: Script.path("b").bytes, .tooLarge)))
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.syncEnded(number, nil))
    script.resume(3, key: 1)
    script.plan(Script.plan(Script.transfer), on: 3)
    script.take(2, on: 3)
    _ = script.finish(2, on: 3)
    expect(script.feed(.syncEnded(SessionNumber(2), nil)), is: ["import 100 of 2: 5/50"])
  }

  // MARK: The import

  @Test func `the sender learns the progress of an import ten times a second at most, and a new phase at once`() {
    var script = Script.receiving()
    script.conclude()
    func told(_ phase: ImportProgress.Phase, after seconds: Double) -> [String] {
      script.feed(.importing(Script.transfer, ImportProgress(phase: phase, done: 1, total: 2)), after: seconds)
    }
    let importing = "tell progress of 100: importing of 5/50 at 0.5"
    let verifying = "tell progress of 100: verifying of 5/50 at 0.5"
    expect(told(.verifying, after: 0), is: [verifying, "say 1 progress verifying 1"])
    expect(told(.verifying, after: 0.05), is: [verifying])
    expect(told(.importing, after: 0), is: [importing, "say 1 progress importing 1"])
    expect(told(.importing, after: 0.05), is: [importing])
    expect(told(.importing, after: 0.06), is: [importing, "say 1 progress importing 1"])
    expect(told(.makingDurable, after: 0), is: [verifying, "say 1 progress makingDurable 1"])
  }

  @Test func `a disconnected sender gets no import progress while its streams settle`() {
    var script = Script.receiving()
    _ = script.join(2, stream: 0)
    script.conclude()
    expect(script.feed(.broke(Script.id(1), Script.cut)), is: [])
    let progress = ImportProgress(phase: .importing, done: 1, total: 2)
    expect(script.feed(.importing(Script.transfer, progress)), is: ["tell progress of 100: importing of 5/50 at 0.5"])
    expect(script.feed(.refused(Script.transfer, [Script.refusal("a")])), is: ["tell not stored root/a"])
    expect(script.imported().map { $0.prefix(9) }, is: ["tell done"])
    expect(script.feed(.timePassed, after: 1).last, is: "close 1 until 3.0")
  }

  @Test func `the result includes the facts of FINISH`() {
    var script = Script.receiving()
    let finish = Finish(
      total: Tally(items: 7, bytes: 70), unsent: 4, digest: 0, leftOut: LeftOut(present: 3, differing: 2),
      lostAttributes: [LostAttribute(name: Array("user.a".utf8), count: 2)])
    _ = script.finish(saying: finish)
    _ = script.feed(.syncEnded(number, nil))
    expect(
      script.feed(
        .imported(
          Script.transfer, .success(Script.done), Traffic(sent: 1, saved: 2, seconds: 3), refused: [])
      ).first, is: "tell done 5/50, sent 1-2 in 3, held 0, unsent 4, left 3+2, not stored 1, behind 1")
  }

  @Test func `a sender that sends FINISH while one of its frames is being written violates the protocol`() {
    var script = Script.receiving()
    _ = script.join(2, stream: 0)
    expect(script.say(.finish(Script.finish)), is: ["shut gate 1", "end sync 1"])
    expect(script.feed(.syncEnded(number, nil)), is: [])
    let violation = Failure(Violation(.state, "the end of the export"))
    expect(
      script.feed(.gateShut(number, violation)),
      is: [
        "say 1 close 3 the other device broke the protocol: the end of the export came at the wrong time",
        "close gate 1", "end stream 2", "close 1 until 2.0",
      ])
    _ = script.feed(.closed(Script.id(1)))
    expect(script.feed(.streamEnded(Script.id(2), .over, held: Tally())), is: ["note 100"])
    expect(script.feed(.noted(Script.transfer)).first?.hasPrefix("finish: 1 "), is: true)
  }

  // MARK: A disk that fails

  @Test func `data that could not be made durable is not imported, even if FINISH came meanwhile`() {
    var script = Script.receiving()
    _ = script.join(2, stream: 0)
    expect(script.finish(), is: ["shut gate 1", "end sync 1"])
    expect(
      script.feed(.syncEnded(number, Script.broken)),
      is: [
        "say 1 close 9", "close gate 1", "end stream 2", "close 1 until 2.0",
      ])
    expect(script.feed(.closed(Script.id(1))), is: [])
    expect(script.feed(.streamEnded(Script.id(2), .over, held: Tally())), is: ["note 100"])
    expect(script.feed(.noted(Script.transfer)), is: ["finish: 1 the disk fails"])
  }

  @Test func `a failed sync of an older session ends the newer session, and the run`() {
    for isFinished in [false, true] {
      var script = Script.receiving()
      if isFinished { _ = script.finish() }
      script.resume(3, key: 1)
      script.plan(Script.plan(Script.transfer), on: 3)
      expect(
        script.feed(.syncEnded(number, Script.broken)).contains("say 3 close 9"))
      _ = script.feed(.closed(Script.id(1)))
      _ = script.feed(.closed(Script.id(3)))
      expect(script.feed(.noted(Script.transfer)), is: ["note 100"])
      expect(script.feed(.noted(Script.transfer)), is: ["finish: 1 the disk fails"])
    }
  }

  @Test func `a failed sync is not forgotten after the sender is lost`() {
    var script = Script.receiving()
    _ = script.feed(.broke(Script.id(1), Script.cut))
    expect(
      script.feed(.syncEnded(number, Script.broken)).contains { $0.hasPrefix("tell interrupted") }, is: false)
    _ = script.feed(.closed(Script.id(1)))
    expect(script.feed(.noted(Script.transfer)), is: ["finish: 1 the disk fails"])
  }

  @Test func `a sender that comes back after a failed sync is told, even if a stream holds its older session`() {
    var script = Script.receiving()
    _ = script.join(2, stream: 0)
    _ = script.feed(.syncEnded(number, Script.broken))
    script.resume(3, key: 1)
    expect(script.feed(.closed(Script.id(1))), is: [])
    _ = script.feed(.closed(Script.id(3)))
    expect(script.feed(.streamEnded(Script.id(2), .over, held: Tally())), is: [])
    expect(script.feed(.noted(Script.transfer)), is: ["note 100"])
    expect(script.feed(.noted(Script.transfer)), is: ["finish: 1 the disk fails"])
  }

  @Test func `a failed sync of a replaced transfer does not end another sender's transfer`() {
    var script = Script()
    script.open([Script.known(66, key: 6)])
    script.receive()
    script.resume(6, key: 6)
    expect(script.feed(.syncEnded(number, Script.broken)), is: ["note 100"])
    expect(Words.text(script.engine.phase), is: "engaged in 66 by 2")
  }

  @Test func `an import that waits for its session's workers does not begin if an item cannot be dropped`() {
    var script = Script.paired()
    script.plan()
    _ = script.offer()
    _ = script.feed(.staged(number, .success(Script.admitted())))
    _ = script.feed(Script.part([1], end: Tally(items: 1, bytes: 1)))
    _ = script.say(.drop([1]))
    _ = script.finish()
    _ = script.feed(.syncEnded(number, nil))
    expect(
      script.feed(.dropped(number, Script.broken)),
      is: [
        "say 1 close 9", "close gate 1", "close 1 until 2.0", "note 100",
      ])
    _ = script.feed(.noted(Script.transfer))
    expect(script.feed(.closed(Script.id(1))), is: ["finish: 1 the disk fails"])
  }
}
