import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// Plans of several parts, as the receiver's engine decides.
@Suite struct ReceiverPlanTests {
  private typealias Script = ReceiverScript
  private let first = SessionNumber(1)
  private let full = Failure(.noSpace, "there is no room")
  private let failed = ControlMessage.failed(Failed(part: 0, Close(.storage, "")))

  /// A sender has paired, and has the verdict of its plan.
  private func agreed(_ parts: [UInt16] = [0, 1], _ settings: ReceiverEngine.Settings = Script.settings()) -> Script {
    var script = Script.paired(settings)
    script.plan(Script.plan(parts: parts.count))
    script.agree(1, parts)
    return script
  }

  /// The import of the first of two parts runs, and its sender is lost.
  private func importingAlone() -> Script {
    var script = agreed()
    script.take()
    script.conclude()
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.closed(Script.id(1)))
    return script
  }

  private func stage(_ part: UInt16, in session: UInt64 = 1) -> [String] {
    ["stage \(session): part \(part), 4 for 100, held 0/0"]
  }

  @Test func `the progress is that of the whole plan, as parts end and fail`() {
    let parts = [10, 20, 30, 40].map { size in
      Part(.folders([Root(kind: .file, name: [UInt8(size)])]), name: "\(size)", bytes: UInt64(size), items: 1)
    }
    let earlier = ReceiverEngine.EarlierTransfer(
      identifier: 1, client: Script.key(1), plan: Plan(parts),
      parts: [
        PartRecord(), PartRecord(), PartRecord(),
        PartRecord(finished: PartRecord.Finished(done: Done(total: Tally(items: 1, bytes: 44)), at: 0)),
      ], part: 1)
    var transfer = IncomingTransfer(earlier)
    func progress(_ arrived: UInt64) -> TransferProgress {
      TransferProgress(
        .receiving, Arrived(Tally(items: 1, bytes: arrived)), of: transfer.expected, fraction: nil)
    }
    transfer.part.total = ExpectedTotal(Tally(items: 1, bytes: 20))
    expect(progress(5).bytes == 49 && progress(5).totalBytes == 104)
    // A part that has failed is not waited for.
    let fits = Result<ReceiverEngine.Examination, Failure>.success(.init(availableBytes: nil))
    transfer.judge(Plan(parts, continuing: 1), [0: .failure(full), 1: fits, 2: fits])
    expect(progress(20).bytes == 64 && progress(20).totalBytes == 94)
  }

  // MARK: Known devices

  /// A receiver that stays and keeps pairings.
  private func remembering() -> Script {
    var settings = Script.settings()
    (settings.keeps, settings.keepsPairings) = (true, true)
    var script = Script(settings)
    script.open()
    return script
  }

  @Test func `a pairing is kept if both users want that, and the record is durable`() {
    let wanting = Plan(Script.plan().parts, flags: .keepPairing)
    for (plan, isKept) in [(wanting, true), (Script.plan(), false), (wanting, false)] {
      var script = remembering()
      script.pair()
      script.plan(plan)
      expect(script.feed(Script.planJudged()).last?.hasSuffix(", kept"), is: plan.flags.contains(.keepPairing))
      expect(script.feed(.recorded(first, nil, isKept: isKept)).first?.hasSuffix("; kept"), is: isKept)
    }
  }

  @Test func `a known device begins a transfer without a code, and is turned away while another one is served`() {
    var script = remembering()
    script.come(1, isOfDevice: true)
    expect(script.feed(.asked(Script.id(1), .resume)), is: ["welcome 1 to resume until 10.0"])
    var busy = script
    busy.pair(2, as: 101)
    expect(busy.feed(.ready(Script.id(1), identifier: 100)), is: ["drop 1"])
    busy.come(3, isOfDevice: true)
    expect(busy.feed(.asked(Script.id(3), .resume)), is: ["turn away 3: busy at 1"])
    expect(script.feed(.ready(Script.id(1), identifier: 100)).contains("converse 1"))
    expect(script.say(Script.greeting()), is: ["tell paired laptop at 10.0.0.1, known"])
    expect(script.say(.plan(Script.plan())), is: ["judgePlan 1: [0] of 1 for 100"])
  }

  @Test func `a known device has several transfers, continues each, and begins eight at most`() {
    var script = remembering()
    for number in 1...8 as ClosedRange<UInt64> {
      script.resume(number, key: 1, isOfDevice: true, beginning: TransferID(100 + number))
      script.plan(on: number)
      script.take(number, on: number, held: Tally(items: 1, bytes: 10))
      _ = script.feed(.broke(Script.id(number), Script.cut))
      _ = script.feed(.syncEnded(SessionNumber(number), nil))
      _ = script.feed(.closed(Script.id(number)))
      for transfer in 1...number { _ = script.feed(.noted(TransferID(100 + transfer))) }
    }
    script.resume(9, key: 1, isOfDevice: true, beginning: 109)
    _ = script.say(Script.greeting(), on: 9)
    expect(script.say(.plan(Script.plan()), on: 9).first?.hasPrefix("say 9 close 5"), is: true)
    _ = script.feed(.closed(Script.id(9)))
    // An earlier one than the newest.
    script.resume(10, key: 1, isOfDevice: true, beginning: 110)
    _ = script.say(Script.greeting(), on: 10)
    _ = script.say(.plan(Script.plan(103)), on: 10)
    expect(Words.text(script.engine.phase), is: "engaged in 103 by 10")
    // One that is not this device's.
    var other = script
    _ = other.feed(.broke(Script.id(10), Script.cut))
    _ = other.feed(.closed(Script.id(10)))
    other.resume(11, key: 1, isOfDevice: true, beginning: 111)
    _ = other.say(Script.greeting(), on: 11)
    expect(other.say(.plan(Script.plan(77)), on: 11).first?.hasPrefix("say 11 close 12"), is: true)
  }

  // MARK: The course of a plan

  @Test func `the parts that are taken run one after the other, and a refused one is named`() {
    var script = Script.paired()
    script.plan(Script.plan(parts: 3))
    expect(
      script.agree(1, [0, 2], refused: [1: full]),
      is: [
        "say 1 verdict 100 900 32M 16: taken, refused 7, taken", "tell part 1 failed 6 there is no room",
      ])
    script.take()
    _ = script.join(2, stream: 0)
    script.conclude()
    expect(script.imported(), is: ["tell part 0 done 5/50", "say 1 done 5/50"])
    for late in [.offer(Script.offer(0)), .offer(Script.offer(1)), .receipt] as [ControlMessage] {
      var other = script
      expect(other.say(late).first?.hasPrefix("say 1 close 3"), is: true)
    }
    // The streams stay open between two parts.
    expect(script.join(3, stream: 1), is: ["serve 3 in 1 as 1"])
    expect(script.say(.offer(Script.offer(2))), is: stage(2))
    _ = script.feed(.staged(first, .success(Script.admitted())))
    let end = LedgerPage(pages: [], partials: [], end: Tally())
    expect(script.feed(.ledger(first, .success(end))), is: ["open gate 1", "say 1 held end 0/0"])
    script.conclude()
    let result = "10/100, sent 50-3 in 2, held 0, unsent 2, left 4+2, not stored 2, failed 1"
    expect(script.imported(), is: ["tell part 2 done 5/50", "tell done \(result)", "say 1 done 5/50"])
    // A later session may find room for the refused part: nothing is forgotten.
    expect(script.say(.receipt), is: ["close gate 1", "end stream 2", "end stream 3", "close 1 until 2.0"])
    _ = script.feed(.streamEnded(Script.id(2), .over, held: Tally()))
    _ = script.feed(.streamEnded(Script.id(3), .over, held: Tally()))
    expect(script.feed(.closed(Script.id(1))), is: ["finish: \(result)"])
  }

  @Test func `a plan without a part that is taken ends with the code of its first part`() {
    var script = Script.paired()
    script.plan(Script.plan(parts: 2))
    expect(
      script.feed(Script.planJudged(1, [], refused: [0: Failure(.exists, "it is there"), 1: full])).prefix(2),
      is: ["tell plan of 2, ? free", "say 1 verdict 100 900 32M 16: refused 6, refused 7"])
    var silent = script
    expect(script.say(.receipt), is: ["close 1 until 2.0"])
    expect(script.feed(.closed(Script.id(1))), is: ["finish: 4 it is there"])
    expect(silent.feed(.timePassed, after: EndLimits.unhurried).first, is: "close 1 until 4.0")
    expect(silent.feed(.closed(Script.id(1))), is: ["finish: 4 it is there"])
  }

  @Test func `a plan of parts that were changed here, and have nothing newer, is done without a byte`() {
    var script = Script.paired()
    script.plan(Script.plan(parts: 2))
    let known = Failure(.nothingNewer, "nothing is newer")
    expect(
      script.feed(Script.planJudged(1, [], refused: [0: known, 1: known])).dropFirst().first,
      is: "say 1 verdict 100 900 32M 16: refused 22, refused 22")
    _ = script.say(.receipt)
    let end = script.feed(.closed(Script.id(1))) + script.feed(.noted(Script.transfer))
    expect(end.last?.hasPrefix("finish: 0/0, ") == true && end.last?.contains("failed") == false, "\(end)")
  }

  @Test func `a root that cannot arrive is left out and named, and the rest of its part arrives`() {
    var script = Script.paired()
    let roots = ["documents", "music"].map { Root(kind: .directory, name: Array($0.utf8)) }
    script.plan(Script.plan(roots: roots))
    let there = ReceiverEngine.RefusedRoot(root: 1, fault: Failure(.exists, "a file is there"))
    let room = ReceiverEngine.Examination(availableBytes: nil, without: [there])
    _ = script.feed(.planJudged(first, .success([0: .success(room)]), session: Script.session))
    expect(
      script.feed(.recorded(first, nil)),
      is: [
        "say 1 verdict 100 900 32M 16: taken without 1", "tell music failed 4 a file is there",
      ])
    script.take()
    expect(script.engine.transfers[0].contents(ofPart: 0)?.roots, is: [roots[0]])
    script.conclude()
    expect(script.imported().first?.hasSuffix("failed 1"), is: true)
  }

  @Test func `the user is asked about a plan as a whole, and declines the parts that could be taken`() {
    var settings = Script.settings()
    settings.asksConsent = true
    var script = Script.paired(settings)
    script.plan(Script.plan(parts: 3))
    expect(
      script.feed(Script.planJudged(1, [0, 2], refused: [1: full])).last,
      is: "ask consent to 4, 1000 free; 4, 1000 free of laptop at 10.0.0.1:9")
    expect(script.feed(.answered(false)).first, is: "say 1 verdict 100 900 32M 16: refused 5, refused 7, refused 5")
  }

  @Test func `another plan takes the place of one without data, and the user is asked about it`() {
    var settings = Script.settings()
    settings.asksConsent = true
    var script = Script(settings)
    script.open([Script.known(66, key: 6, held: Tally())])
    script.resume(6, key: 6)
    var same = script
    _ = script.say(Script.greeting(), on: 6)
    expect(script.say(.plan(Script.plan(parts: 2)), on: 6), is: ["judgePlan 1: [0, 1] of 2 for 200", "discard 66"])
    expect(Words.text(script.engine.phase), is: "engaged in 200 by 1")
    expect(script.feed(Script.planJudged(1, [0, 1])).last?.hasPrefix("ask consent"), is: true)
    expect(script.engine.transfers.map(\.identifier), is: [200])
    // A sender that has missed the verdict sends the same plan again.
    same.plan(on: 6)
    expect(same.feed(Script.planJudged()).last, is: "record 1: 1 for 66 of key 6, laptop at 10.0.0.6:9")
  }

  @Test func `a part that an earlier session has finished is answered by DONE, with its refusals named`() {
    var script = Script()
    script.open([
      Script.known(66, key: 6, parts: 2, part: 1, finished: [0], notStored: [Script.refusal("a")])
    ])
    script.resume(6, key: 6)
    _ = script.say(Script.greeting(), on: 6)
    expect(script.say(.plan(Script.plan(66, parts: 2)), on: 6), is: ["judgePlan 1: [1] of 2 for 66"])
    expect(
      script.agree(1, [1]),
      is: [
        "say 6 verdict 66 900 32M 16: finished, taken", "tell not stored root/a", "tell renamed root/x to root/x (2)",
        "tell part 0 done 5/50",
      ])
    // A sender that holds its DONE leaves it out.
    var informed = script
    expect(informed.say(.offer(Script.offer(1)), on: 6), is: ["stage 1: part 1, 4 for 66, held 2/20"])
    expect(script.say(.offer(Script.offer()), on: 6), is: ["say 6 not stored root/a", "say 6 done 5/50"])
    expect(script.say(.offer(Script.offer(1)), on: 6), is: ["stage 1: part 1, 4 for 66, held 2/20"])
  }

  // MARK: A part that fails

  @Test func `a plan that cannot be judged or recorded ends the session with the fault, a ledger fails its part`() {
    for (state, event, told) in [
      (.judgingPlan, .planJudged(first, .failure(Script.broken), session: Script.session), "say 1 close 9"),
      (.recording, .recorded(first, Script.broken), "say 1 close 9"),
      (.telling, .ledger(first, .failure(Script.broken)), "say 1 failed 0 9"),
    ] as [(ReceiverState, ReceiverEngine.Event, String)] {
      var script = state.script()
      expect(script.feed(event).first, is: told)
    }
  }

  @Test func `a part that cannot be staged fails, and the next one runs`() {
    var script = agreed()
    _ = script.say(.offer(Script.offer()))
    expect(
      script.feed(.staged(first, .failure(Script.broken))),
      is: [
        "say 1 failed 0 9", "discard data 1", "tell part 0 failed 1 the disk fails", "note 100",
      ])
    var early = script
    expect(early.say(.offer(Script.offer(1))).first?.hasPrefix("say 1 close 3"), is: true)
    expect(script.say(failed), is: [])
    expect(script.say(.offer(Script.offer(1))), is: stage(1))
  }

  @Test func `streams that meet one fault fail a part once, and the next part waits for its workers`() {
    var script = agreed()
    script.take()
    for number in 2...3 as ClosedRange<UInt64> { _ = script.join(number, stream: UInt32(number)) }
    expect(
      script.feed(.streamEnded(Script.id(2), .failed(Script.broken), held: Tally())),
      is: [
        "say 1 failed 0 9", "discard data 1", "end sync 1", "tell part 0 failed 1 the disk fails",
        "note 100",
      ])
    expect(script.feed(.streamEnded(Script.id(3), .failed(Script.broken), held: Tally())), is: [])
    // What was under way comes again on another stream.
    expect(script.join(4, stream: 4, replaces: 2), is: ["serve 4 in 1 as 4"])
    for message in [
      .notStored(NotStored(path: [97], .vanished)), .drop([1]), .finish(Script.finish), failed,
    ] as [ControlMessage] {
      expect(script.say(message), is: [])
    }
    expect(script.feed(.streamEnded(Script.id(4), .failed(Script.broken), held: Tally())), is: [])
    expect(script.say(.offer(Script.offer(1))), is: [])
    expect(script.feed(.syncEnded(first, nil)), is: stage(1))
  }

  @Test func `a stream's fault before an import fails the part, and does not stop an import that runs`() {
    var script = agreed()
    script.take()
    _ = script.join(2, stream: 0)
    _ = script.finish()
    var importing = script
    expect(
      script.feed(.streamEnded(Script.id(2), .failed(Script.broken), held: Tally())).first, is: "say 1 failed 0 9")
    _ = script.feed(.syncEnded(first, nil))
    _ = script.say(failed)
    expect(script.say(.offer(Script.offer(1))), is: stage(1))
    _ = importing.feed(.syncEnded(first, nil))
    expect(importing.feed(.streamEnded(Script.id(2), .failed(Script.broken), held: Tally())), is: [])
    expect(importing.imported(), is: ["tell part 0 done 5/50", "say 1 done 5/50"])
  }

  @Test func `an import that fails fails its part, and a later session tries it again`() {
    var script = agreed()
    script.take()
    script.conclude()
    expect(
      script.imported(.failure(Script.broken)),
      is: [
        "say 1 failed 0 9", "discard data 1", "tell part 0 failed 1 the disk fails",
      ])
    _ = script.say(failed)
    expect(script.say(.offer(Script.offer(1))), is: stage(1))
    script.resume(3, key: 1)
    script.plan(Script.plan(Script.transfer, parts: 2), on: 3)
    _ = script.feed(.staged(first, .success(Script.admitted())))
    expect(script.agree(2, [0, 1]), is: ["say 3 verdict 100 900 32M 16: taken, taken"])
    expect(script.say(.offer(Script.offer()), on: 3), is: stage(0, in: 2))
    expect(
      script.feed(.staged(SessionNumber(2), .success(Script.admitted(concluded: Script.whole)))), is: ["import 100"])
    expect(script.imported(), is: ["tell part 0 done 5/50", "say 3 done 5/50"])
  }

  @Test func `the data that was under way when the last part failed has a minute, and a stop shortens that`() {
    var script = agreed([0])
    script.take()
    _ = script.join(2, stream: 0)
    _ = script.join(3, stream: 1)
    _ = script.feed(.streamEnded(Script.id(2), .failed(Script.broken), held: Tally()))
    _ = script.say(failed)
    expect(script.engine.nextMoment, is: 60)
    var late = script
    expect(script.say(.receipt).contains("close 1 until 2.0"))
    _ = late.feed(.stop(.terminated), after: 1)
    expect(late.engine.nextMoment, is: 1 + EndLimits.lastMessages)
    var importing = agreed([0])
    importing.take()
    importing.conclude()
    _ = importing.imported(.failure(Script.broken))
    expect(importing.engine.nextMoment, is: EndLimits.unhurried)
  }

  @Test func `data that may be lost ends the run at once, also if each part has its end`() {
    var script = agreed()
    script.take()
    script.conclude()
    _ = script.imported()
    script.take(part: 1)
    _ = script.say(.failed(Failed(part: 1, Close(.storage, ""))))
    _ = script.feed(.syncEnded(first, full))
    _ = script.feed(.closed(Script.id(1)))
    expect(Words.text(script.engine.phase).hasPrefix("finishing"))
  }

  @Test func `a plan of which a part has failed for good is forgotten when it is over`() {
    var script = agreed()
    script.take()
    script.conclude()
    _ = script.imported(.failure(Failure(.exists, "it is there")))
    _ = script.say(failed)
    script.take(part: 1)
    script.conclude()
    _ = script.imported()
    expect(script.say(.receipt).last, is: "forget 100")
  }

  @Test func `a part that fails at the sender is answered, and the session ends with its code`() {
    let gone = Failed(part: 0, Close(.exportFailed, "it is gone"))
    var script = agreed([0])
    _ = script.say(.offer(Script.offer()))
    expect(
      script.say(.failed(gone)), is: ["say 1 failed 0 11", "discard data 1", "note 100"])
    // The worker that staged it ends late.
    expect(script.feed(.staged(first, .success(Script.admitted()))), is: [])
    _ = script.feed(.noted(Script.transfer))
    expect(script.say(.receipt), is: ["close 1 until 2.0", "note 100"])
    _ = script.feed(.closed(Script.id(1)))
    expect(
      script.feed(.noted(Script.transfer)), is: ["finish: 9 the other device stopped: \"it is gone\""])
  }

  @Test func `a failure that crosses DONE changes nothing, once`() {
    var script = agreed()
    script.take()
    script.conclude()
    _ = script.imported()
    expect(script.say(failed), is: [])
    var again = script
    expect(again.say(failed).first?.hasPrefix("say 1 close 3"), is: true)
    expect(script.say(.offer(Script.offer(1))), is: stage(1))
  }

  // MARK: Imports without a session

  @Test func `a session that comes during an import gets its verdict at once, and the part's offer waits`() {
    var script = importingAlone()
    script.resume(3, key: 1)
    script.plan(Script.plan(Script.transfer, parts: 2), on: 3)
    expect(script.agree(2, [1]), is: ["say 3 verdict 100 900 32M 16: taken, taken"])
    expect(script.say(.offer(Script.offer()), on: 3), is: [])
    expect(script.imported(), is: ["tell part 0 done 5/50", "say 3 done 5/50"])
    expect(script.say(.offer(Script.offer(1)), on: 3), is: stage(1, in: 2))
  }

  @Test func `a sender may give up a part that is still imported: the import decides, and fails no other part`() {
    for result in [.success(Script.done), .failure(Script.broken)] as [Result<Done, Failure>] {
      var script = importingAlone()
      script.resume(3, key: 1)
      script.plan(Script.plan(Script.transfer, parts: 2), on: 3)
      script.agree(2, [1])
      _ = script.say(.offer(Script.offer()), on: 3)
      expect(script.say(failed, on: 3).first, is: "say 3 failed 0 9")
      expect(script.say(.offer(Script.offer(1)), on: 3), is: [])
      let end = script.imported(result)
      expect(end.last == stage(1, in: 2)[0] && !end.contains { $0.hasPrefix("say 3 failed") })
    }
    var script = agreed([0])
    script.take()
    script.conclude()
    script.resume(3, key: 1)
    _ = script.askAgain(2, on: 3)
    _ = script.say(failed, on: 3)
    expect(script.say(.receipt, on: 3), is: ["close 3 until 2.0"])
    expect(Words.text(script.engine.phase), is: "engaged in 100")
    expect(script.imported().first?.hasPrefix("tell done 5/50"), is: true)
  }

  @Test func `an import that fails before its part is offered again is tried again at that offer`() {
    var script = importingAlone()
    script.resume(3, key: 1)
    script.plan(Script.plan(Script.transfer, parts: 2), on: 3)
    expect(script.imported(.failure(Script.broken)), is: [])
    expect(script.agree(2, [1]), is: ["say 3 verdict 100 900 32M 16: taken, taken"])
    expect(script.say(.offer(Script.offer()), on: 3), is: stage(0, in: 2))
  }

  @Test func `after an import without a session the receiver waits for the sender of the other parts`() {
    for result in [.success(Script.done), .failure(Script.broken)] as [Result<Done, Failure>] {
      var script = importingAlone()
      _ = script.imported(result)
      expect(
        Words.text(script.engine.phase).hasPrefix("away 100 until 600.0, 5 the other device did not come back"))
      var stopped = script
      expect(stopped.feed(.stop(.terminated)).last, is: "finish: 143 interrupted")
      var before = importingAlone()
      _ = before.feed(.stop(.terminated))
      let isDone = (try? result.get()) != nil
      expect(before.imported(result).last, is: (isDone ? "finish: 143 interrupted" : "finish: 1 the disk fails"))
      script.resume(3, key: 1)
      _ = script.say(Script.greeting(), on: 3)
      let open = (try? result.get()) == nil ? "[0, 1]" : "[1]"
      expect(
        script.say(.plan(Script.plan(Script.transfer, parts: 2)), on: 3), is: ["judgePlan 2: \(open) of 2 for 100"])
    }
  }

  // MARK: A stop, and a receiver that stays

  @Test func `a stop between two parts ends the run, also if the import before it has ended since`() {
    var between = agreed()
    between.take()
    between.conclude()
    var importing = between
    _ = between.imported()
    expect(
      between.feed(.stop(.terminated)).first, is: "say 1 close 2")
    expect(between.feed(.closed(Script.id(1))), is: ["finish: 143 interrupted"])
    expect(importing.feed(.stop(.terminated)), is: ["interrupt import 100"])
    expect(
      importing.imported().prefix(3),
      is: [
        "tell part 0 done 5/50", "say 1 done 5/50",
        "say 1 close 2",
      ])
    expect(importing.feed(.closed(Script.id(1))), is: ["finish: 143 interrupted"])
  }

  @Test func `a stop before the verdict ends a run that waits for a sender's missing parts`() {
    var script = agreed()
    script.take()
    script.conclude()
    _ = script.imported()
    _ = script.say(.offer(Script.offer(1)))
    _ = script.feed(.staged(first, .failure(full)))
    // The plan is over with a part that may be tried again.
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.noted(Script.transfer))
    expect(Words.text(script.engine.phase).hasPrefix("away 100 until 60"))
    script.resume(3, key: 1)
    script.plan(Script.plan(Script.transfer, parts: 2), on: 3)
    expect(script.feed(.stop(.terminated)), is: ["hurry to close 1 until 0.4"])
    expect(script.agree(2, [1]).contains { $0.hasPrefix("say 3 close 2") })
    _ = script.feed(.closed(Script.id(1)))
    _ = script.feed(.closed(Script.id(3)))
    expect(script.feed(.noted(Script.transfer)), is: ["note 100"])
    expect(script.feed(.noted(Script.transfer)), is: ["finish: 143 interrupted"])
  }

  @Test func `a receiver that stays takes a plan with a failed part again, and waits for its sender no longer`() {
    var script = Script.staying()
    script.open()
    script.pair()
    script.plan(Script.plan(parts: 2))
    script.agree(1, [0], refused: [1: full])
    script.take()
    script.conclude()
    expect(script.imported().contains { $0.hasPrefix("tell done 5/50") && $0.hasSuffix("failed 1") })
    expect(Words.text(script.engine.phase), is: "open")
    _ = script.feed(.codeMade(.success(Script.code)))
    // The sender comes back beside its own last session.
    script.come(3, key: 1)
    _ = script.feed(.asked(Script.id(3), .resume))
    expect(
      script.feed(.ready(Script.id(3), identifier: 0)).first, is: "say 1 close 13")
    expect(Words.text(script.engine.phase), is: "engaged in 100 by 2")
    // It sends nothing, and another sender asks.
    script.come(4)
    expect(script.feed(.asked(Script.id(4), .pair), after: 120).first?.hasPrefix("say 3 close 16"), is: true)
  }

  @Test func `a refused plan gives way to another pairing although its sender has not sent RECEIPT`() {
    var script = Script.staying()
    script.open()
    script.pair()
    script.plan()
    script.agree(1, [], refused: [0: full])
    _ = script.feed(.codeMade(.success(Script.code)))
    script.pair(2, as: 101)
    expect(script.engine.transfers.map(\.identifier), is: [101])
    expect(script.say(.receipt), is: ["close 1 until 2.0", "discard 100"])
  }

  @Test func `roots that an earlier run has left out of a part are still not there`() throws {
    let finished = PartRecord(refusedRoots: 2, finished: PartRecord.Finished(done: Script.done, at: 0))
    let done = ReceiverEngine.EarlierTransfer(
      identifier: 77, client: Script.key(1), plan: Script.plan(parts: 1), parts: [finished])
    expect(try IncomingTransfer(done).outcome?.get().failedParts, is: 2)
    var importing = IncomingTransfer(
      ReceiverEngine.EarlierTransfer(
        identifier: 77, client: Script.key(1), plan: Script.plan(parts: 1), parts: [PartRecord(refusedRoots: 1)],
        concluded: Script.whole))
    importing.imported(Script.done, [])
    expect(try importing.outcome?.get().failedParts, is: 1)
  }
}
