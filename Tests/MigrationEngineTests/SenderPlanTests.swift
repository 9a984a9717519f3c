import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// Plans of several parts, as the sender's engine decides.
@Suite struct SenderPlanTests {
  private let full = Close(.noSpace, "full")
  private let sources = [Fixture.summary(), Fixture.summary(["tree", "wood"]), Fixture.summary(["wood"])]

  /// The first part of a plan is being exported.
  private func streaming(_ parts: [Verdict.Judgement]) -> SenderTrial {
    .streaming(Fixture.verdict(parts), of: Array(sources.prefix(parts.count)))
  }

  private func offer(_ part: Int, flags: Int = 0) -> String {
    "say 1 offer \(part) 10/1000 allocated 4096 flags \(flags)"
  }

  /// The result of a run, after the last message of its session.
  private func result(_ trial: inout SenderTrial) -> String {
    for stream in 0..<4 as Range<UInt32> { trial.end(stream, .stopped) }
    return trial.close().first { $0.hasPrefix("tell done") } ?? trial.engine.phaseName
  }

  // MARK: The course of a plan

  @Test func `the parts that are taken are offered in order, on the same streams`() {
    var trial = SenderTrial { $0.streams = 1 }
    trial.sources = sources
    trial.beginPairing()
    trial.meet()
    expect(trial.hear(.greeting(Fixture.greeting())).last, is: "say 1 plan new of 3")
    expect(
      trial.hear(.verdict(Fixture.verdict([.taken(), .refused(full), .taken()]))),
      is: [
        "tell tree, wood failed noSpace: the other device stopped: there is not enough space (Free some space at the destination, and start again.)",
        "record plan 1 77 of 3 for there at host:7",
      ])
    expect(trial.take(.planRecorded(trial.session, 77, nil)), is: ["say 1 offer 10/1000 allocated 4096 flags 0"])
    expect(trial.accept(), is: ["export 1 77, no app, compressible", "open 1.0"])
    // The streams end with the last part only.
    expect(trial.take(.exported(trial.session, .success(.little))), is: ["note finish 1 77 9/900", "say 1 drop 2"])
    trial.take(.finishNoted(trial.session, 77, nil))
    expect(trial.hear(.done(Fixture.done)), is: ["record 77 9/900 refusals 0"])
    expect(trial.take(.recorded(77, Fixture.traffic, isWritten: true)), is: ["tell tree done", offer(2)])
    expect(trial.accept(), is: ["export 1 77.2, no app, compressible"])
    expect(trial.pass(0.2), is: ["progress 1 sending of 10/1000"])
    expect(
      trial.take(.exported(trial.session, .success(.little))),
      is: [
        "finish window 1", "note finish 1 77.2 9/900", "say 1 drop 2",
      ])
    trial.take(.finishNoted(trial.session, 77, nil))
    expect(trial.hear(.done(Fixture.done)), is: ["record 77.2 9/900 refusals 0"])
    expect(
      trial.take(.recorded(77, Fixture.traffic, isWritten: true)).prefix(2), is: ["tell wood done", "say 1 receipt"])
    let result = result(&trial)
    expect(result.hasPrefix("tell done 18/1800 sent 800 ") && result.hasSuffix(" failed 1"))
    // A later session may find room for the refused part: the transfer is not forgotten.
    expect(trial.engine.phaseName, is: "over")
  }

  @Test func `roots that the receiver leaves out are not exported, and count as failed`() {
    let left = Verdict.Judgement.taken(without: [Verdict.RefusedRoot(root: 1, code: .notAllowed)])
    var trial = SenderTrial()
    trial.sources = [sources[1]]
    trial.beginPairing()
    trial.meet()
    trial.hear(.greeting(Fixture.greeting()))
    expect(trial.hear(.verdict(Fixture.verdict([left]))).first?.hasPrefix("tell wood failed refused"), is: true)
    expect(trial.take(.planRecorded(trial.session, 77, nil)), is: ["say 1 offer 10/1000 allocated 4096 flags 1"])
    expect(trial.accept().first, is: "export 1 77, no app, compressible without wood")
    _ = trial.finish()
    expect(result(&trial).hasSuffix(" failed 1"))
  }

  @Test func `a finished part whose DONE is recorded is not offered, and any other is`() {
    let known = SenderEngine.EarlierTransfer(
      identifier: 7, receiver: Fixture.receiver,
      parts: [
        PartRecord(refusedRoots: 2, finished: PartRecord.Finished(done: Fixture.done, at: 0)), PartRecord(),
      ])
    var trial = SenderTrial()
    trial.sources = Array(sources.prefix(2))
    trial.begin([known])
    trial.meet()
    expect(trial.plan(Fixture.verdict([.finished, .finished], of: 7)), is: [offer(1)])
    expect(trial.hear(.notStored(Fixture.refusal)), is: ["tell not stored tree/file tooLarge"])
    expect(trial.hear(.done(Fixture.done)), is: ["record 7.1 9/900 refusals 1"])
    expect(
      trial.take(.recorded(7, Fixture.traffic, isWritten: true)).prefix(2),
      is: [
        "tell tree, wood done", "say 1 receipt",
      ])
    // Roots that an earlier run left out of the first one are still not there.
    let end = result(&trial)
    expect(end.hasPrefix("tell done 18/1800") && end.hasSuffix(" failed 2"), "\(end)")
  }

  @Test func `parts that the receiver has, and that have nothing newer, are not offered, and did not fail`() {
    var trial = SenderTrial()
    trial.sources = Array(sources.prefix(2))
    trial.beginPairing()
    trial.meet()
    trial.hear(.greeting(Fixture.greeting()))
    let known = Verdict.Judgement.refused(Close(.nothingNewer))
    expect(trial.hear(.verdict(Fixture.verdict([known, known]))).contains("say 1 receipt"))
    let end = trial.close()
    expect(end.first?.hasPrefix("tell done 0/0 ") == true && end.first?.contains("failed") == false, "\(end)")
  }

  @Test func `a receiver's name for a root is that of this device's user`() {
    var trial = SenderTrial()
    trial.sources = [sources[1]]
    trial.sources[0].places = [Array("wood".utf8): Array("Holz".utf8)]
    trial.beginPairing()
    trial.meet()
    trial.hear(.greeting(Fixture.greeting()))
    trial.hear(.verdict(Fixture.verdict([.refused(Close(.unfit, name: Array("wood/a".utf8)))])))
    expect(trial.close().first?.contains("its destination cannot be used ('Holz/a')"), is: true)
  }

  @Test func `a plan without a part that is taken ends with the reason of its first part`() {
    var trial = SenderTrial()
    trial.sources = Array(sources.prefix(2))
    trial.beginPairing()
    trial.meet()
    trial.hear(.greeting(Fixture.greeting()))
    let verdict = Fixture.verdict([.refused(Close(.exists, "it is there")), .refused(full)])
    expect(trial.hear(.verdict(verdict)).contains("say 1 receipt"))
    expect(
      trial.close().first?.hasPrefix("finish refused: the other device stopped: an item of this name exists there"),
      is: true)
  }

  @Test(arguments: [(true, false), (true, true), (false, false)])
  func `a user who wants to be remembered learns that a plan of which nothing is taken keeps no pairing`(
    wants: Bool, expects: Bool
  ) {
    var trial = SenderTrial { ($0.keepsPairing, $0.expectsReceiver) = (wants, expects) }
    trial.sources = Array(sources.prefix(1))
    trial.beginPairing()
    trial.meet()
    trial.hear(.greeting(Fixture.greeting()))
    let told = trial.hear(.verdict(Fixture.verdict([.refused(full)])))
    expect(told.contains { $0.contains("the next run needs a new code") }, is: wants && !expects, "\(told)")
  }

  // MARK: A part that fails

  @Test func `a part that fails here is settled by the receiver's answer, and the next one is offered`() {
    var trial = streaming([.taken(), .taken()])
    let gone = Failure(.exportFailed, "no export")
    expect(trial.take(.exported(trial.session, .failure(gone))), is: ["say 1 failed 0 11 no export"])
    for late in [.notStored(Fixture.refusal), .progress(ImportProgress(phase: .verifying, done: 1, total: 4))]
      as [ControlMessage]
    {
      expect(trial.hear(late), is: [])
    }
    expect(
      trial.hear(.failed(Failed(part: 0, Close(.exportFailed, "")))),
      is: [
        "tell tree failed exportFailed: no export", offer(1),
      ])
    expect(trial.accept(), is: ["export 1 77.1, no app, compressible"])
    _ = trial.finish()
    expect(result(&trial).hasSuffix(" failed 1"))
  }

  @Test func `the receiver's code counts where both ends have given up a part`() {
    var trial = streaming([.taken()])
    trial.take(.exported(trial.session, .failure(Failure(.exportFailed, "no export"))))
    trial.hear(.failed(Failed(part: 0, full)))
    trial.end(0, .stopped)
    expect(trial.close().first?.hasPrefix("finish noSpace: the other device stopped"), is: true)
  }

  @Test func `a receiver that does not answer a failure has a minute`() {
    var trial = streaming([.taken(), .taken()])
    trial.take(.exported(trial.session, .failure(Failure(.exportFailed, "no export"))))
    expect(trial.pass(SenderSession.settling - 0.1).allSatisfy { !$0.hasPrefix("say") })
    expect(trial.pass(0.1).first, is: "say 1 close 11 no export")
  }

  @Test func `a part that fails at the receiver ends its export, and the next offer waits for that`() {
    var trial = streaming([.taken(), .taken()])
    expect(
      trial.hear(.failed(Failed(part: 0, Close(.storage, "broken")))).filter { !$0.hasPrefix("tell") },
      is: [
        "say 1 failed 0 9", "abandon export 1",
      ])
    expect(trial.take(.unsent(trial.session, Fixture.unsent)), is: ["tell not stored tree/gone vanished"])
    expect(trial.take(.exported(trial.session, .failure(Fixture.cut))), is: [offer(1)])
    // One that fails while it is imported has no export.
    _ = trial.accept()
    trial.export()
    expect(
      trial.hear(.failed(Failed(part: 1, full))).suffix(3), is: ["say 1 receipt", "stop 1", "close 1 until 102.0"])
  }

  @Test func `a receiver that this device's user forgets ends the run, and is told`() {
    var trial = streaming([.taken(), .taken()])
    expect(trial.take(.forgotten).contains("say 1 close 12 cause 12"))
    trial.end(0, .stopped)
    trial.take(.exported(trial.session, .failure(Fixture.cut)))
    trial.close()
    trial.take(.window(SessionNumber(1), Fixture.counts))
    let words = trial.take(.noted(77))
    expect(words.contains { $0.contains("the other device was forgotten here") }, "\(words)")
  }

  @Test func `a part has its own ledger, also behind one that has failed before its ledger's end`() {
    var trial = streaming([.taken(), .taken(), .taken()])
    trial.hear(.failed(Failed(part: 0, full)))
    expect(trial.take(.exported(trial.session, .failure(Fixture.cut))), is: [offer(1)])
    expect(trial.hear(.accept(Fixture.accept)), is: ["begin ledger 1"])
    expect(trial.hear(.held(Held(kind: .staged, marks: [1]))), is: ["keep 1 held 1"])
    expect(trial.hear(.failed(Failed(part: 1, full))).last, is: offer(2))
    expect(trial.hear(.accept(Fixture.accept)), is: ["begin ledger 1"])
  }

  @Test func `a connection that is lost when every part has its result ends the run with that`() {
    var trial = streaming([.taken()])
    trial.hear(.failed(Failed(part: 0, full)))
    expect(trial.take(.broke(ConnectionID(1), Fixture.cut)), is: ["stop 1", "close 1 until 102.0"])
    trial.take(.exported(trial.session, .failure(Fixture.cut)))
    trial.end(0, .stopped)
    expect(trial.close().first?.hasPrefix("finish noSpace"), is: true)
  }

  // MARK: Recording DONE

  @Test func `a connection that is lost while a DONE is recorded is restored for the next part`() {
    var trial = streaming([.taken(), .taken()])
    trial.export()
    trial.hear(.done(Fixture.done))
    var stopped = trial
    var closed = trial
    expect(trial.take(.broke(ConnectionID(1), Fixture.cut)), is: [])
    expect(
      trial.take(.recorded(77, Fixture.traffic, isWritten: true)).prefix(2), is: ["tell tree done", "say 1 close 16"])
    trial.end(0, .stopped)
    trial.close()
    expect(
      trial.take(.window(SessionNumber(1), Fixture.counts { $0.arrived = Tally() })).first,
      is: "note 77 9/900 of 20/2000 at host:7")
    trial.take(.noted(77))
    trial.pass(1)
    trial.meet()
    expect(trial.plan(Fixture.verdict([.finished, .taken()])), is: ["say 2 offer 1 10/1000 allocated 4096 flags 0"])

    expect(stopped.take(.stop(.terminated)), is: [])
    expect(
      stopped.take(.recorded(77, Fixture.traffic, isWritten: true)).dropFirst().first?.hasPrefix("say 1 close 2"),
      is: true)
    expect(closed.hear(.close(Close(.interrupted, "away"))), is: [])
    expect(
      closed.take(.recorded(77, Fixture.traffic, isWritten: true)),
      is: [
        "tell tree done", "stop 1", "close 1 until 102.0",
      ])
  }

  @Test func `a receiver that closes while the last DONE is recorded gets no RECEIPT`() {
    var trial = SenderTrial.inState("recording")
    expect(trial.hear(.close(Close(.interrupted, "away"))), is: [])
    expect(trial.take(.recorded(77, Fixture.traffic, isWritten: true)), is: ["stop 1", "close 1 until 102.0"])
    expect(result(&trial).hasPrefix("tell done 9/900"))
  }

  @Test func `after a DONE that could not be recorded the other parts follow, and no RECEIPT`() {
    var trial = streaming([.taken(), .taken()])
    trial.export()
    trial.hear(.done(Fixture.done))
    expect(trial.take(.recorded(77, Fixture.traffic, isWritten: false)), is: ["tell tree done", offer(1)])
    _ = trial.accept()
    expect(trial.finish(), is: ["tell tree, wood done", "stop 1", "close 1 until 102.0"])
  }
}

/// The result of a plan (Protocol §7.5).
@Suite struct PlanOutcomeTests {
  private func part(_ items: UInt64, failed: Int = 0, concludedAt: Int64? = nil) -> TransferOutcome {
    .success(
      TransferResult(
        total: Tally(items: items, bytes: items * 10), sentBytes: 0, heldBytes: items, seconds: 0, unsent: 1,
        losses: [Done.Loss(kind: .mode, count: items)], leftOut: LeftOut(present: 1, differing: 2), notStored: 3,
        renamed: 2, lostAttributes: [LostAttribute(name: [97], count: 4)], concludedAt: concludedAt, failedParts: failed
      ))
  }

  private func combined(_ parts: [TransferOutcome]) -> TransferOutcome {
    TransferOutcome.combined(parts, Traffic(sent: 7, saved: 8, seconds: 9))
  }

  @Test func `the results of all parts add up, and the traffic is that of the run`() throws {
    let sum = try combined([part(1, concludedAt: 5), part(2, concludedAt: 6)]).get()
    expect(
      sum,
      is: TransferResult(
        total: Tally(items: 3, bytes: 30), sentBytes: 7, savedBytes: 8, heldBytes: 3, seconds: 9, unsent: 2,
        losses: [Done.Loss(kind: .mode, count: 3)], leftOut: LeftOut(present: 2, differing: 4), notStored: 6,
        renamed: 4, lostAttributes: [LostAttribute(name: [97], count: 8)], concludedAt: 6))
    // A part of this run makes it a result of this run.
    expect(try combined([part(1, concludedAt: 5), part(2)]).get().concludedAt == nil)
  }

  @Test func `parts that failed, and roots that were left out, are counted beside finished ones`() throws {
    let failure = TransferOutcome.failure(Failure(.noSpace, "full"))
    expect(try combined([failure, part(1), failure]).get().failedParts, is: 2)
    expect(try combined([part(1, failed: 2), failure]).get().failedParts, is: 3)
  }

  @Test func `parts with nothing newer are counted apart`() throws {
    let known = Failure(.nothingNewer, "nothing is newer").outcome
    let sum = try combined([known, part(1), known]).get()
    expect(sum.presentParts == 2 && sum.failedParts == 0 && sum.total.items == 1)
  }

  @Test func `without a finished part the first failure is the result`() {
    let result = combined([.failure(Failure(.refused, "first")), .failure(Failure(.noSpace, "second"))])
    #expect(throws: Failure(.refused, "first")) { try result.get() }
  }
}
