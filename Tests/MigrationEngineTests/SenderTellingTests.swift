import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// The reports to the user and to the other device in sessions, and their frequency.
@Suite struct SenderTellingTests {
  @Test(arguments: [
    (false, true, Features.zstd, "its exporter does not want the data to be compressed"),
    (true, false, .zstd, "nothing is compressed: libzstd.so.1 is not on this device"),
    (true, true, Features(), "nothing is compressed: the other device cannot decompress"),
  ])
  func `a user who wants compression is told once why there is none`(
    _ isCompressible: Bool, _ canCompress: Bool, _ features: Features, _ reason: String
  ) {
    for wantsCompression in [true, false] {
      var trial = SenderTrial {
        $0.compression = wantsCompression ? .always : .auto
        $0.canCompress = canCompress
      }
      trial.sources = [Fixture.summary(isCompressible: isCompressible)]
      trial.beginPairing()
      trial.meet()
      let notice = wantsCompression ? ["tell notice \(reason)"] : []
      let greeting = Fixture.greeting(features: features)
      expect(
        trial.stream(Fixture.verdict, greeting), is: ["export 1 77, no app, plain"] + notice + ["open 1.0"])
      _ = trial.cut()
      trial.pass(1)
      trial.meet()
      expect(
        trial.stream(Fixture.verdict, greeting),
        is: [
          "tell resumed 0", "export 2 77, no app, plain", "open 2.0",
        ])
    }
  }

  @Test func `a user who wants compression and has it is told nothing`() {
    var trial = SenderTrial { $0.compression = .always }
    trial.beginPairing()
    trial.meet()
    expect(trial.stream(), is: ["export 1 77, no app, compressible", "open 1.0"])
  }

  @Test func `an app's exporter learns the receiver's request`() {
    var trial = SenderTrial()
    trial.beginPairing()
    trial.meet()
    let greeting = Fixture.greeting(AppRequest(bundleIdentifier: "app.notes", platform: "linux"))
    expect(
      trial.stream(Fixture.verdict, greeting).first, is: "export 1 77, app.notes, compressible")
  }

  @Test(
    arguments: [
      // The estimate, the actual size, and whether the difference is reported.
      (1, 3_000_000_000, true), (0, 1_048_576, true), (10_000_000, 15_000_001, true), (10_000_000, 4_999_999, true),
      (10_000_000, 15_000_000, false), (10_000_000, 5_000_000, false), (1, 1_000_000, false), (900, 100, false),
    ] as [(UInt64, UInt64, Bool)])
  func `an estimate that was wrong by more than half is reported once`(
    estimate: UInt64, actual: UInt64, isTold: Bool
  ) {
    let app = AppIdentity(bundleIdentifier: "app.notes", store: "", platform: "", version: "")
    let exported = ExportResult(
      finish: Finish(total: Tally(items: 2, bytes: actual), unsent: 0, digest: 0), stale: [])
    var trial = SenderTrial()
    trial.sources = [
      SourceSummary(
        contents: .app(app), total: Tally(items: 1, bytes: estimate), allocated: estimate, isEstimate: true)
    ]
    trial.beginPairing()
    for session in 1...2 as ClosedRange<UInt64> {
      trial.meet()
      _ = trial.stream()
      let told = trial.take(.exported(SessionNumber(session), .success(exported))).filter { $0.hasPrefix("tell") }
      expect(told.count, is: (isTold && session == 1 ? 1 : 0), "\(told)")
      _ = trial.cut()
      trial.pass(1)
    }
  }

  @Test func `beyond an estimate no total is reported, and beyond a walk the greater one`() {
    let arrived = Tally(items: 3, bytes: 41)
    for (total, bytes) in [
      (ExpectedTotal(Tally(items: 2, bytes: 40), isEstimate: true), nil),
      (ExpectedTotal(Tally(items: 2, bytes: 41), isEstimate: true), 41),
      (ExpectedTotal(Tally(items: 2, bytes: 40)), 41),
    ] as [(ExpectedTotal, UInt64?)] {
      let progress = TransferProgress(.sending, Arrived(arrived), of: total, fraction: nil)
      expect(progress.totalBytes == bytes && progress.totalItems == 3 && progress.bytes == 41)
    }
  }

  @Test func `progress counts the bytes that move, without the holes`() {
    let gib = UInt64(1 << 30)
    // A file of 10 GiB that takes 1 GiB on the disk, and a file of 1 GiB without holes.
    let total = ExpectedTotal(Tally(items: 2, bytes: 11 * gib), allocated: 2 * gib)
    for (arrived, moved, expected) in [
      (Arrived(), 0, 2 * gib),
      (Arrived(Tally(bytes: gib)), gib, 2 * gib),
      (Arrived(Tally(bytes: 6 * gib), holes: 5 * gib), gib, 2 * gib),
      (Arrived(Tally(items: 2, bytes: 11 * gib), holes: 9 * gib), 2 * gib, 2 * gib),
      // Of the 11 GiB that an earlier session brought, the 9 GiB of holes did not move.
      (Arrived(Tally(items: 2, bytes: 11 * gib), uncounted: 11 * gib), 2 * gib, 2 * gib),
      // A disk that compresses: the space says nothing.
      (Arrived(Tally(bytes: 3 * gib)), 3 * gib, 11 * gib),
    ] as [(Arrived, UInt64, UInt64)] {
      let progress = TransferProgress(.sending, arrived, of: total, fraction: nil)
      expect(progress.bytes == moved && progress.totalBytes == expected, "\(arrived)")
    }
    let plain = TransferProgress(
      .sending, Arrived(Tally(bytes: 50)), of: ExpectedTotal(Tally(items: 1, bytes: 100), allocated: 4096),
      fraction: nil)
    expect(plain.bytes == 50 && plain.totalBytes == 100)
  }

  @Test func `items that the receiver has stored under other names are named, also those of an earlier run`() throws {
    let item = RenamedItem(path: Fixture.path, target: try ArchivePath(Array("tree/file (2)".utf8)))
    let done = Done(total: Fixture.finish.total, renamed: [item])
    let told = "tell renamed tree/file to tree/file (2)"
    var trial = SenderTrial.streaming()
    trial.export()
    expect(!trial.hear(.done(done)).contains(told))
    expect(trial.take(.recorded(77, Fixture.traffic, isWritten: true)).contains(told))
    var later = SenderTrial()
    later.take(.begin)
    expect(later.take(.lookedUp(.success([Fixture.unfinished(7, done: done)]))).first, is: told)
  }

  @Test func `a stop waits for the record of a plan that the receiver may have, and not for long`() {
    func trial() -> SenderTrial {
      var trial = SenderTrial()
      trial.beginPairing()
      trial.meet()
      trial.hear(.greeting(Fixture.greeting()))
      return trial
    }
    let ended = "say 1 close 2"
    var judged = trial()
    expect(judged.take(.stop(.interrupted)), is: [])
    expect(judged.engine.nextMoment.map { rounded($0 - judged.now) }, is: EndLimits.plan)
    expect(judged.hear(.verdict(Fixture.verdict)).allSatisfy { $0.hasPrefix("record plan") })
    expect(judged.take(.planRecorded(judged.session, 77, nil)).contains(ended))
    var silent = trial()
    expect(silent.take(.stop(.interrupted)), is: [])
    expect(silent.pass(EndLimits.plan - 0.1), is: [])
    expect(silent.pass(0.11).contains(ended))
    var impatient = trial()
    expect(impatient.take(.stop(.interrupted)), is: [])
    expect(impatient.take(.stop(.interrupted)).contains(ended))
    var cut = trial()
    expect(cut.take(.stop(.interrupted)), is: [])
    expect(cut.take(.broke(ConnectionID(1), Fixture.cut)), is: ["say 1 close 16", "stop 1", "close 1 until 100.4"])
  }

  @Test func `the user sees the progress five times a second`() {
    var trial = SenderTrial.streaming { $0.streams = 1 }
    let told = ["progress 1 sending of 10/1000"]
    expect(trial.engine.nextMoment.map { rounded($0 - trial.now) }, is: 0.2)
    expect(trial.pass(0.199), is: [])
    expect(trial.pass(0.001), is: told)
    // A late report does not bring the next one forward.
    expect(trial.pass(0.35), is: told)
    expect(trial.engine.nextMoment.map { rounded($0 - trial.now) }, is: 0.2)
    // Events do not delay a report; only after everything is sent do the other device's events
    // replace the reports.
    expect(trial.hear(.ping(1), after: 0.2), is: ["say 1 pong 1"] + told)
    trial.export()
    expect(trial.pass(10), is: [])
    expect(trial.engine.nextMoment == nil)
  }

  @Test func `due work of a stream is done in time as well`() {
    var trial = SenderTrial.streaming()
    expect(trial.engine.nextMoment.map { rounded($0 - trial.now) }, is: 0.05)
    trial.pass(0.05)
    expect(trial.engine.nextMoment.map { rounded($0 - trial.now) }, is: 0.05)
  }

  @Test func `before streaming there are no timed reports`() {
    var trial = SenderTrial.inState("comparing")
    expect(trial.engine.nextMoment == nil)
    expect(trial.pass(10), is: [])
    // The first figures then come with the first read of the window.
    expect(trial.hear(.heldEnd(HeldEnd(held: Tally()))).last, is: "progress 1 sending of 10/1000")
  }

  @Test func `the receiver gets as many unsent items as may be named, the user all of them`() {
    var trial = SenderTrial.streaming()
    for _ in 0..<Limits.notStored {
      expect(trial.take(.unsent(SessionNumber(1), Fixture.unsent)).count, is: 2)
    }
    expect(trial.take(.unsent(SessionNumber(1), Fixture.unsent)), is: ["tell not stored tree/gone vanished"])
  }

  @Test func `items named as not stored are recorded with DONE, each session's anew`() {
    var trial = SenderTrial.streaming()
    trial.hear(.notStored(Fixture.refusal))
    trial.hear(.notStored(Fixture.refusal))
    _ = trial.cut()
    _ = trial.comeBack()
    expect(trial.hear(.notStored(Fixture.refusal)).count, is: 2)
    trial.take(.unsent(SessionNumber(2), Fixture.unsent))
    trial.export()
    expect(trial.hear(.done(Fixture.done)), is: ["record 77 9/900 refusals 1"])
  }

  @Test func `items already named as not stored are not named again before DONE`() {
    var trial = SenderTrial.inState("finishing")
    trial.hear(.notStored(Fixture.refusal))
    trial.loseAndMeetAgain()
    expect(trial.hear(.notStored(Fixture.refusal)), is: [])
    expect(trial.hear(.done(Fixture.done)), is: ["record 77 9/900 refusals 1"])
  }

  @Test func `items that an earlier run recorded as not stored are kept, and reported if they are new`() {
    var trial = SenderTrial()
    trial.begin([
      Fixture.unfinished(7, refusals: [Fixture.refusal])
    ])
    trial.meet()
    trial.plan(Fixture.verdict(of: 7))
    expect(trial.hear(.notStored(Fixture.refusal)), is: [])
    expect(trial.hear(.done(Fixture.done)), is: ["record 7 9/900 refusals 1"])
  }

  @Test func `items that the source no longer has are not kept as not stored, nor reported after their DROP`() {
    let gone = ExportResult(finish: Fixture.finish, stale: [Fixture.refusedMark])
    var trial = SenderTrial.streaming()
    expect(trial.hear(.notStored(Fixture.refusal)), is: ["refuse 1", "tell not stored tree/file tooLarge"])
    trial.export(gone)
    expect(trial.hear(.done(Fixture.done)), is: ["record 77 9/900 refusals 0"])

    var late = SenderTrial.streaming()
    late.export(gone)
    expect(late.hear(.notStored(Fixture.refusal)), is: [])
    // Another generation of it is another item.
    expect(
      late.hear(.notStored(NotStored(path: Fixture.path, generation: 6, .other))),
      is: [
        "refuse 1 something else", "tell not stored tree/file other",
      ])
    expect(late.hear(.done(Fixture.done)), is: ["record 77 9/900 refusals 1"])
  }

  @Test func `the items named before DONE are all that is kept as not stored`() {
    var trial = SenderTrial.streaming()
    trial.hear(.notStored(Fixture.refusal))
    trial.export()
    trial.loseAndMeetAgain()
    expect(trial.hear(.done(Fixture.done)), is: ["record 77 9/900 refusals 0"])
  }

  @Test func `no more items are kept as not stored than a session may name`() {
    var named = NamedItems(Array(repeating: Fixture.refusal, count: Limits.notStored))
    expect(named.refusals.count, is: Limits.notStored)
    let isTold = named.add(Fixture.refusal)
    expect(isTold)
    expect(named.refusals.count, is: Limits.notStored)
  }

  @Test func `stale items are sent a page at a time, as the connection takes them, and FINISH after them`() {
    var trial = SenderTrial.streaming { $0.streams = 1 }
    let stale = (0..<Mark(2 * Limits.marksInFrame + 1)).map { $0 }
    let page = "say 1 drop \(Limits.marksInFrame)"
    expect(trial.take(.drained(ConnectionID(1))), is: [])
    expect(
      trial.take(
        .exported(SessionNumber(1), .success(ExportResult(finish: Fixture.finish, stale: stale)))),
      is: [
        "finish window 1", "note finish 1 77 9/900", page,
      ])
    expect(trial.take(.finishNoted(SessionNumber(1), 77, nil)), is: [])
    expect(trial.take(.drained(ConnectionID(1))), is: [page])
    // No receiver can be done before FINISH.
    var cut = trial
    expect(
      trial.take(.drained(ConnectionID(1))),
      is: ["say 1 drop 1", "say 1 finish 9/900", "progress 1 verifying of 9/900"])
    expect(trial.take(.drained(ConnectionID(1))), is: [])
    _ = cut.cut()
    cut.pass(1)
    cut.meet()
    cut.plan()
    expect(cut.hear(.done(Fixture.done)).first?.contains("the receiver's last word came at the wrong time"), is: true)
  }

  @Test func `FINISH is sent once its omissions are recorded on the disk, and not before`() {
    var trial = SenderTrial.streaming { $0.streams = 1 }
    let session = SessionNumber(1)
    trial.take(.exported(session, .success(.some)))
    // Stale items are sent meanwhile.
    expect(trial.take(.drained(ConnectionID(1))), is: ["say 1 drop 1"])
    expect(trial.take(.drained(ConnectionID(1))), is: [])
    expect(trial.pass(0.2), is: ["progress 1 sending of 9/900"])
    // A receiver that sends DONE early has not received FINISH.
    var early = trial
    expect(early.hear(.done(Fixture.done)).first?.contains("the receiver's last word came at the wrong time"), is: true)
    // A session that breaks has ended when that is recorded.
    var cut = trial
    cut.cut()
    expect(cut.engine.phaseName, is: "closing")
    expect(cut.take(.finishNoted(session, 77, nil)), is: ["read window 1"])
    var failed = trial
    expect(
      failed.take(.finishNoted(session, 77, Failure(.failed, "no thread"))).first, is: "say 1 close 9")
    expect(
      trial.take(.finishNoted(session, 77, nil)), is: ["say 1 finish 9/900", "progress 1 verifying of 9/900"])
    expect(trial.take(.drained(ConnectionID(1))), is: [])
    expect(trial.take(.finishNoted(session, 77, nil)), is: [])
  }

  @Test func `stale items that fit on one page are sent at once, and no page is sent without any`() {
    for (count, pages) in [(0, [Int]()), (1, [1]), (Limits.marksInFrame, [Limits.marksInFrame])] {
      var trial = SenderTrial.streaming { $0.streams = 1 }
      let stale = (0..<Mark(count)).map { $0 }
      let exported = ExportResult(finish: Fixture.finish, stale: stale)
      expect(
        trial.export(exported),
        is: [
          "finish window 1", "note finish 1 77 9/900",
        ] + pages.map { "say 1 drop \($0)" } + ["say 1 finish 9/900", "progress 1 verifying of 9/900"])
    }
  }
}
