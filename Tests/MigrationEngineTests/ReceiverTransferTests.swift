import MigrationWire
import Testing

@testable import MigrationEngine

/// Offers, ledgers, data streams, refusals and imports, as the receiver's engine decides.
@Suite struct ReceiverTransferTests {
  private typealias Script = ReceiverScript
  private let number = SessionNumber(1)

  private func paired(_ settings: ReceiverEngine.Settings = Script.settings()) -> Script {
    var script = Script(settings)
    script.open()
    script.pair()
    return script
  }

  private func receiving() -> Script {
    var script = Script()
    script.open()
    script.receive()
    return script
  }

  private func part(_ marks: [Mark] = [], end: Tally? = nil) -> ReceiverEngine.Event {
    let pages = marks.isEmpty ? [] : [Held(kind: .staged, marks: marks)]
    return .ledger(number, .success(ReceiverEngine.LedgerPart(pages: pages, partials: [], end: end)))
  }

  // MARK: Offers

  @Test func `an offer that continues another transfer, or other roots, ends the run`() {
    for (offer, reason) in [
      (Script.offer(67), "12 this transfer is not known here"),
      (
        Script.offer(66, roots: [Root(kind: .directory, name: [98])]),
        "3 the other device broke the protocol: an offer of other roots than at first contradicts what came before"
      ),
    ] {
      var script = Script()
      script.open([Script.known(66, key: 6)])
      script.resume(6, key: 6)
      _ = script.say(Script.greeting(), on: 6)
      #expect(
        script.say(.offer(offer), on: 6) == [
          "tell offer 4, ? free", "say 6 close \(reason)", "close 6 until 2.0", "note 66",
        ])
    }
  }

  @Test func `a root may have become something else, and an app is known by its name`() {
    func objection(_ one: Offer.Contents, _ other: Offer.Contents) -> Fault? {
      var transfer = IncomingTransfer(1, pairedWith: Script.key(1))
      transfer.contents = one
      return transfer.objection(
        to: Offer(transfer: 1, contents: other, items: 0, bytes: 0, allocated: 0, flags: []))
    }
    func app(_ name: String, _ version: String) -> Offer.Contents {
      .app(AppIdentity(bundleIdentifier: name, store: "", platform: "", version: version))
    }
    let file = Offer.Contents.folders([Root(kind: .file, name: Script.root.name)])
    #expect(objection(.folders([Script.root]), file) == nil)
    #expect(objection(.folders([Script.root]), .folders([])) != nil)
    #expect(objection(app("a", "1"), app("a", "2")) == nil)
    #expect(objection(app("a", "1"), app("b", "1")) != nil)
    #expect(objection(app("a", "1"), file) != nil)
    #expect(objection(file, app("a", "1")) != nil)
  }

  @Test func `the roots of the first offer that was taken are those of all`() {
    var script = receiving()
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.syncEnded(number, nil))
    script.resume(3, key: 1)
    script.offer(Script.offer(roots: [Root(kind: .directory, name: [98])]), on: 3)
    #expect(Words.text(script.engine.phase).contains("an offer of other roots"))
  }

  @Test func `what is used is what both ends have and the offer allows`() {
    let app = AppIdentity(bundleIdentifier: "a", store: "", platform: "", version: "")
    let cases: [(Offer, Features, String)] = [
      (Script.offer(), [.zstd, .refusals, .leavingOut], "features 513 traits"),
      (Script.offer(), [.zstd], "features 1"), (Script.offer(), [], "features 0"),
      (Script.offer(flags: []), [.zstd, .refusals], "features 512 traits"),
      (
        Offer(transfer: nil, contents: .app(app), items: 4, bytes: 4, allocated: 4, flags: [.compressible]),
        [.zstd, .refusals], "features 1"
      ),
    ]
    for (offer, features, expected) in cases {
      var script = paired()
      script.offer(offer, features: features)
      let staging = script.feed(.examined(number, .success(ReceiverEngine.Examination(availableBytes: 1)))).last ?? ""
      #expect(staging.hasSuffix(", taken") == features.contains(.leavingOut))
      let accept = script.feed(.staged(number, .success(Script.admitted()))).first
      #expect(accept == "say 1 accept 100 900 32M 16 \(expected)")
    }
    var settings = Script.settings()
    settings.greeting = Greeting(role: .receiver, label: "", software: "", features: [.refusals])
    var script = paired(settings)
    script.offer()
    _ = script.feed(.examined(number, .success(ReceiverEngine.Examination(availableBytes: 1))))
    let accept = script.feed(.staged(number, .success(Script.admitted()))).first
    #expect(accept == "say 1 accept 100 900 32M 16 features 512 traits")
  }

  // MARK: The ledger

  @Test func `the parts of a ledger are asked for one after another, each when the one before is gone`() {
    var script = paired()
    script.offer()
    _ = script.feed(.examined(number, .success(ReceiverEngine.Examination(availableBytes: 1))))
    #expect(script.feed(.drained(Script.id(1))) == [])
    _ = script.feed(.staged(number, .success(Script.admitted())))
    #expect(script.feed(.drained(Script.id(1))) == [])
    #expect(script.feed(part([1])) == ["say 1 held staged [1]"])
    #expect(script.feed(.drained(Script.id(2))) == [])
    #expect(script.feed(.drained(Script.id(1))) == ["read ledger 1"])
    #expect(script.feed(.drained(Script.id(1))) == [])
    // A part that says nothing does not drain.
    #expect(script.feed(part()) == ["read ledger 1"])
    #expect(script.feed(part([2], end: Tally(items: 2, bytes: 3))) == ["say 1 held staged [2]", "say 1 held end 2/3"])
    #expect(script.feed(.drained(Script.id(1))) == [])
  }

  @Test func `the next part is not asked for when the session has ended`() {
    var script = paired()
    script.offer()
    _ = script.feed(.examined(number, .success(ReceiverEngine.Examination(availableBytes: 1))))
    _ = script.feed(.staged(number, .success(Script.admitted())))
    _ = script.feed(part([1]))
    _ = script.feed(.broke(Script.id(1), Script.cut))
    #expect(script.feed(.drained(Script.id(1))) == [])
  }

  @Test func `what a ledger told is what was there before, and who comes back is told of it`() {
    var script = receiving()
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.syncEnded(number, nil))
    script.resume(3, key: 1)
    script.offer(Script.offer(Script.transfer), on: 3)
    _ = script.feed(.examined(SessionNumber(2), .success(ReceiverEngine.Examination(availableBytes: 1))))
    _ = script.feed(.staged(SessionNumber(2), .success(Script.admitted(held: Tally(items: 2, bytes: 20)))))
    let end = ReceiverEngine.LedgerPart(pages: [], partials: [], end: Tally(items: 2, bytes: 21))
    #expect(
      script.feed(.ledger(SessionNumber(2), .success(end))) == ["tell resumed 21", "say 3 held end 2/21"])
    _ = script.say(.finish(Script.finish), on: 3)
    _ = script.feed(.syncEnded(SessionNumber(2), nil))
    #expect(script.imported().first?.contains("held 21") == true)
  }

  @Test func `progress is told five times a second while data may come`() {
    var script = receiving()
    #expect(script.engine.nextMoment == 0.2)
    #expect(script.feed(.timePassed, after: 0.1) == [])
    #expect(script.feed(.timePassed, after: 0.1) == ["tell progress of 100: receiving of 4/40"])
    #expect(script.engine.nextMoment == 0.4)
    #expect(script.feed(.timePassed, after: 0.1) == [])
    _ = script.say(.finish(Script.finish))
    #expect(script.engine.nextMoment == nil)
    #expect(script.feed(.timePassed, after: 1) == [])
  }

  // MARK: Streams

  @Test func `a stream that is replaced ends before its heir is served`() {
    var script = receiving()
    #expect(script.join(2, stream: 0) == ["serve 2 in 1 as 0"])
    #expect(script.join(3, stream: 1) == ["serve 3 in 1 as 1"])
    #expect(script.join(4, stream: 2, replaces: 0) == ["end stream 2"])
    #expect(script.feed(.streamEnded(Script.id(3), .over, held: Tally())) == [])
    #expect(script.feed(.streamEnded(Script.id(2), .over, held: Tally())) == ["serve 4 in 1 as 2"])
    // The heir of one that has ended waits for nothing.
    #expect(script.join(5, stream: 3, replaces: 0) == ["serve 5 in 1 as 3"])
  }

  @Test func `a number that was used or replaced joins no more`() {
    var script = receiving()
    _ = script.join(2, stream: 0)
    #expect(script.join(3, stream: 0) == ["drop 3"])
    _ = script.feed(.streamEnded(Script.id(2), .over, held: Tally()))
    #expect(script.join(4, stream: 0) == ["drop 4"])
    #expect(script.join(5, stream: 2, replaces: 1) == ["serve 5 in 1 as 2"])
    #expect(script.join(6, stream: 1) == ["drop 6"])
  }

  @Test func `the heir of a stream that never came ends whatever it may have been an heir of`() {
    var script = receiving()
    _ = script.join(2, stream: 0)
    _ = script.join(3, stream: 1)
    #expect(script.join(4, stream: 3, replaces: 2) == ["end stream 2", "end stream 3"])
    #expect(script.feed(.streamEnded(Script.id(3), .over, held: Tally())) == [])
    #expect(script.feed(.streamEnded(Script.id(2), .over, held: Tally())) == ["serve 4 in 1 as 3"])
  }

  @Test func `the heir of an heir that still waits is served, and the one between them is not`() {
    var script = receiving()
    _ = script.join(2, stream: 0)
    #expect(script.join(3, stream: 1, replaces: 0) == ["end stream 2"])
    #expect(script.join(4, stream: 2, replaces: 1) == ["end stream 2"])
    #expect(script.feed(.streamEnded(Script.id(2), .over, held: Tally())) == ["drop 3", "serve 4 in 1 as 2"])
  }

  @Test func `sixteen streams are served at a time`() {
    var script = receiving()
    for stream in 0..<16 as Range<UInt32> {
      #expect(script.join(100 + UInt64(stream), stream: stream) == ["serve \(100 + stream) in 1 as \(stream)"])
    }
    #expect(script.join(200, stream: 16) == ["drop 200"])
    _ = script.feed(.streamEnded(Script.id(100), .over, held: Tally()))
    #expect(script.join(201, stream: 17) == ["serve 201 in 1 as 17"])
  }

  @Test func `those that wait are closed when their session ends`() {
    var script = receiving()
    _ = script.join(2, stream: 0)
    _ = script.join(3, stream: 1, replaces: 0)
    #expect(
      script.feed(.broke(Script.id(1), Fault(.violation, "broken"))) == [
        "say 1 close 3 broken", "close gate 1", "drop 3", "end stream 2", "end sync 1", "close 1 until 2.0",
      ])
    #expect(script.feed(.streamEnded(Script.id(2), .over, held: Tally())) == [])
  }

  @Test func `while a session settles, those that wait are not served`() {
    var script = receiving()
    _ = script.join(2, stream: 0)
    _ = script.join(4, stream: 4)
    _ = script.join(3, stream: 1, replaces: 0)
    _ = script.feed(.broke(Script.id(1), Script.cut))
    #expect(script.feed(.streamEnded(Script.id(2), .over, held: Tally())) == [])
    #expect(script.feed(.streamEnded(Script.id(4), .over, held: Tally())).contains("drop 3"))
  }

  // MARK: What the source no longer has

  @Test func `items are dropped in turn, and the end of the export waits for the last of them`() {
    var script = paired()
    script.offer()
    _ = script.feed(.examined(number, .success(ReceiverEngine.Examination(availableBytes: 1))))
    _ = script.feed(.staged(number, .success(Script.admitted())))
    _ = script.feed(part([1, 2]))
    _ = script.feed(.drained(Script.id(1)))
    _ = script.feed(part([3], end: Tally(items: 3, bytes: 3)))
    #expect(script.say(.drop(Drop(marks: [1]))) == ["drop items 1: [1]"])
    #expect(script.say(.drop(Drop(marks: [2]))) == [])
    #expect(script.say(.drop(Drop(marks: [3]))) == [])
    _ = script.say(.finish(Script.finish))
    #expect(script.feed(.dropped(number, nil)) == ["drop items 1: [2]"])
    #expect(script.feed(.dropped(number, nil)) == ["drop items 1: [3]"])
    #expect(script.feed(.dropped(number, nil)) == [])
    #expect(script.feed(.syncEnded(number, nil)) == ["import 100 of 1: 5/50"])
  }

  @Test func `an export that ends when nothing is made durable any more is imported at once`() {
    var script = receiving()
    #expect(script.feed(.syncEnded(number, nil)) == [])
    #expect(script.say(.finish(Script.finish)) == ["import 100 of 1: 5/50"])
  }

  // MARK: Refusals

  @Test func `refusals are told to both users as they come, and to a sender that comes back all again`() {
    var script = receiving()
    #expect(
      script.feed(.refused(Script.transfer, [Script.refusal("a"), Script.refusal("b")])) == [
        "tell not stored root/a", "tell not stored root/b", "say 1 refused root/a", "say 1 refused root/b",
      ])
    #expect(
      script.feed(.refused(Script.transfer, [Script.refusal("c")])) == [
        "tell not stored root/c", "say 1 refused root/c",
      ])
    _ = script.feed(.broke(Script.id(1), Script.cut))
    #expect(script.feed(.refused(Script.transfer, [Script.refusal("d")])) == ["tell not stored root/d"])
    _ = script.feed(.syncEnded(number, nil))
    script.resume(3, key: 1)
    script.offer(Script.offer(Script.transfer), on: 3)
    _ = script.feed(.examined(SessionNumber(2), .success(ReceiverEngine.Examination(availableBytes: 1))))
    #expect(script.feed(.refused(Script.transfer, [Script.refusal("e")])) == ["tell not stored root/e"])
    _ = script.feed(.staged(SessionNumber(2), .success(Script.admitted())))
    let end = ReceiverEngine.LedgerPart(pages: [], partials: [], end: Tally())
    let names = ["a", "b", "c", "d", "e"]
    #expect(
      script.feed(.ledger(SessionNumber(2), .success(end))) == ["tell resumed 0", "say 3 held end 0/0"]
        + names.map { "tell not stored root/\($0)" } + names.map { "say 3 refused root/\($0)" })
  }

  @Test func `refusals at the import are told before DONE`() {
    var script = receiving()
    script.conclude()
    #expect(
      script.feed(.refused(Script.transfer, [Script.refusal("a")])) == [
        "tell not stored root/a", "say 1 refused root/a",
      ])
    #expect(script.imported().last == "say 1 done 5/50")
  }

  @Test func `a sender that asks again is told what is not stored in front of DONE, and the user if this run has not`()
  {
    var script = receiving()
    _ = script.feed(.refused(Script.transfer, [Script.refusal("a")]))
    let withheld = Unsent(path: Script.refusal("b").path, notStorable: .tooLarge)
    #expect(script.say(.unsent(withheld)) == ["tell not stored root/b"])
    _ = script.say(.finish(Script.finish))
    #expect(script.feed(.syncEnded(number, nil)) == ["import 100 of 1: 5/50 without 1"])
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.imported()
    script.resume(3, key: 1)
    _ = script.say(Script.greeting(), on: 3)
    #expect(
      script.say(.offer(Script.offer(Script.transfer)), on: 3) == [
        "tell offer 4, ? free", "say 3 refused root/a", "say 3 refused root/b", "say 3 done 5/50",
      ])
  }

  @Test func `what an earlier run did not store is told to both, and the user hears of it once`() {
    var script = Script()
    script.open([Script.known(66, key: 6, notStored: [Script.refusal("a")], standing: .done(Script.done))])
    script.resume(6, key: 6)
    _ = script.say(Script.greeting(), on: 6)
    #expect(
      script.say(.offer(Script.offer(66)), on: 6) == [
        "tell offer 4, ? free", "tell not stored root/a", "say 6 refused root/a", "say 6 done 5/50",
      ])
    script.resume(7, key: 6)
    _ = script.say(Script.greeting(), on: 7)
    #expect(
      script.say(.offer(Script.offer(66)), on: 7) == [
        "tell offer 4, ? free", "say 7 refused root/a", "say 7 done 5/50",
      ])
    #expect(
      script.say(.receipt, on: 7) == [
        "close 7 until 2.0", "tell done 5/50, sent 0-0 in 0, held 50, unsent 3, left 0+0, not stored 1", "forget 66",
      ])
  }

  @Test func `what the sender leaves out in a session is said again in the next one`() {
    var script = receiving()
    _ = script.say(.unsent(Unsent(path: Script.refusal("b").path, notStorable: .tooLarge)))
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.syncEnded(number, nil))
    script.resume(3, key: 1)
    script.offer(Script.offer(Script.transfer), on: 3)
    script.take(2, on: 3)
    _ = script.say(.finish(Script.finish), on: 3)
    #expect(script.feed(.syncEnded(SessionNumber(2), nil)) == ["import 100 of 2: 5/50"])
  }

  // MARK: The import

  @Test func `the sender hears of an import ten times a second at most, and of a new phase at once`() {
    var script = receiving()
    script.conclude()
    func told(_ phase: ImportProgress.Phase, after seconds: Double) -> [String] {
      script.feed(.importing(Script.transfer, ImportProgress(phase: phase, done: 1, total: 2)), after: seconds)
    }
    let importing = "tell progress of 100: importing of 5/50 at 0.5"
    let verifying = "tell progress of 100: verifying of 5/50 at 0.5"
    #expect(told(.verifying, after: 0) == [verifying, "say 1 progress verifying 1"])
    #expect(told(.verifying, after: 0.05) == [verifying])
    #expect(told(.importing, after: 0) == [importing, "say 1 progress importing 1"])
    #expect(told(.importing, after: 0.05) == [importing])
    #expect(told(.importing, after: 0.06) == [importing, "say 1 progress importing 1"])
    #expect(told(.makingDurable, after: 0) == [verifying, "say 1 progress makingDurable 1"])
  }

  @Test func `a sender that is gone hears nothing of the import while its streams settle`() {
    var script = receiving()
    _ = script.join(2, stream: 0)
    script.conclude()
    #expect(script.feed(.broke(Script.id(1), Script.cut)) == [])
    let progress = ImportProgress(phase: .importing, done: 1, total: 2)
    #expect(script.feed(.importing(Script.transfer, progress)) == ["tell progress of 100: importing of 5/50 at 0.5"])
    #expect(script.feed(.refused(Script.transfer, [Script.refusal("a")])) == ["tell not stored root/a"])
    #expect(script.imported().map { $0.prefix(9) } == ["tell done"])
    #expect(script.feed(.timePassed, after: 1).last == "close 1 until 3.0")
  }

  @Test func `what the end of the export says, and what was left at the import, is in the result`() {
    var script = receiving()
    let finish = Finish(
      total: Tally(items: 7, bytes: 70), unsent: 4, digest: 0, leftOut: LeftOut(present: 3, differing: 2), withheld: 5,
      leftBehind: [LeftBehind(name: Array("user.a".utf8), count: 2)])
    _ = script.say(.finish(finish))
    _ = script.feed(.syncEnded(number, nil))
    #expect(
      script.feed(
        .imported(
          Script.transfer, .success(Script.done), Traffic(sent: 1, saved: 2, seconds: 3), differing: 10)
      ).first
        == "tell done 5/50, sent 1-2 in 3, held 0, unsent 4, left 3+12, not stored 1, behind 1")
  }
}
