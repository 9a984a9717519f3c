import MigrationWire
import Testing

@testable import MigrationEngine

/// Offers and ledgers, as the receiver's engine decides.
@Suite struct ReceiverTransferTests {
  private typealias Script = ReceiverScript
  private let number = SessionNumber(1)

  // MARK: Offers

  @Test func `an offer that continues another transfer, or has other roots, ends the run`() {
    for (offer, reason) in [
      (Script.offer(67), "12 this transfer is not known here"),
      (
        Script.offer(66, roots: [Root(kind: .directory, name: [98])]),
        "3 the other device broke the protocol: an offer of other roots than at first contradicts an earlier statement"
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

  @Test func `a root may change its type, and an app is identified by its name, platform and store`() {
    func objection(_ one: Offer.Contents, _ other: Offer.Contents) -> Fault? {
      var transfer = IncomingTransfer(1, pairedWith: Script.key(1))
      transfer.contents = one
      return transfer.objection(
        to: Offer(transfer: 1, contents: other, items: 0, bytes: 0, allocated: 0, flags: []))
    }
    func app(_ name: String, _ version: String, platform: String = "linux", store: String = "") -> Offer.Contents {
      .app(AppIdentity(bundleIdentifier: name, store: store, platform: platform, version: version))
    }
    let file = Offer.Contents.folders([Root(kind: .file, name: Script.root.name)])
    #expect(objection(.folders([Script.root]), file) == nil)
    #expect(objection(.folders([Script.root]), .folders([])) != nil)
    #expect(objection(app("a", "1"), app("a", "2")) == nil)
    #expect(objection(app("a", "1"), app("b", "1")) != nil)
    #expect(objection(app("a", "1"), app("a", "1", platform: "android")) != nil)
    #expect(objection(app("a", "1"), app("a", "1", store: "other")) != nil)
    #expect(objection(app("a", "1"), file) != nil)
    #expect(objection(file, app("a", "1")) != nil)
  }

  @Test func `the roots of the first accepted offer apply to all later offers`() {
    var script = Script.receiving()
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.syncEnded(number, nil))
    script.resume(3, key: 1)
    script.offer(Script.offer(roots: [Root(kind: .directory, name: [98])]), on: 3)
    #expect(Words.text(script.engine.phase).contains("an offer of other roots"))
  }

  @Test func `a session uses the features that both ends have and the offer allows`() {
    let app = AppIdentity(bundleIdentifier: "a", store: "", platform: "", version: "")
    let cases: [(Offer, Features, String)] = [
      (Script.offer(), .zstd, "features 1 traits"), (Script.offer(), [], "features 0 traits"),
      (Script.offer(flags: []), .zstd, "features 0 traits"),
      (
        Offer(transfer: nil, contents: .app(app), items: 4, bytes: 4, allocated: 4, flags: [.compressible]),
        .zstd, "features 1"
      ),
    ]
    for (offer, features, expected) in cases {
      var script = Script.paired()
      script.offer(offer, features: features)
      _ = script.feed(.examined(number, .success(ReceiverEngine.Examination(availableBytes: 1))))
      let accept = script.feed(.staged(number, .success(Script.admitted()))).first
      #expect(accept == "say 1 accept 100 900 32M 16 \(expected)")
    }
    var settings = Script.settings()
    settings.greeting = Greeting(role: .receiver, label: "", software: "", features: [])
    var script = Script.paired(settings)
    script.offer()
    _ = script.feed(.examined(number, .success(ReceiverEngine.Examination(availableBytes: 1))))
    let accept = script.feed(.staged(number, .success(Script.admitted()))).first
    #expect(accept == "say 1 accept 100 900 32M 16 features 0 traits")
  }

  // MARK: The ledger

  @Test func `the parts of a ledger are read one after another, each when the previous one is sent`() {
    var script = Script.paired()
    script.offer()
    _ = script.feed(.examined(number, .success(ReceiverEngine.Examination(availableBytes: 1))))
    #expect(script.feed(.drained(Script.id(1))) == [])
    _ = script.feed(.staged(number, .success(Script.admitted())))
    #expect(script.feed(.drained(Script.id(1))) == [])
    #expect(script.feed(Script.part([1])) == ["say 1 held staged [1]"])
    #expect(script.feed(.drained(Script.id(2))) == [])
    #expect(script.feed(.drained(Script.id(1))) == ["read ledger 1"])
    #expect(script.feed(.drained(Script.id(1))) == [])
    // A part that queues nothing does not drain.
    #expect(script.feed(Script.part()) == ["read ledger 1"])
    #expect(
      script.feed(Script.part([2], end: Tally(items: 2, bytes: 3))) == ["say 1 held staged [2]", "say 1 held end 2/3"])
    #expect(script.feed(.drained(Script.id(1))) == [])
  }

  @Test func `the next part is not read when the session has ended`() {
    var script = Script.paired()
    script.offer()
    _ = script.feed(.examined(number, .success(ReceiverEngine.Examination(availableBytes: 1))))
    _ = script.feed(.staged(number, .success(Script.admitted())))
    _ = script.feed(Script.part([1]))
    _ = script.feed(.broke(Script.id(1), Script.cut))
    #expect(script.feed(.drained(Script.id(1))) == [])
  }

  @Test func `an offer is examined with the amount that was staged at the previous offer`() {
    var script = Script()
    script.open()
    script.pair()
    script.offer()
    script.take(held: Tally(items: 3, bytes: 30))
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.syncEnded(number, nil))
    script.resume(3, key: 1)
    _ = script.say(Script.greeting(), on: 3)
    #expect(script.say(.offer(Script.offer(Script.transfer)), on: 3) == ["examine 2: 4 for 100, held 3/30"])
  }

  @Test func `the ledger's total is the amount held before, and a returning sender's user is told`() {
    var script = Script.receiving()
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.syncEnded(number, nil))
    script.resume(3, key: 1)
    script.offer(Script.offer(Script.transfer), on: 3)
    _ = script.feed(.examined(SessionNumber(2), .success(ReceiverEngine.Examination(availableBytes: 1))))
    _ = script.feed(.staged(SessionNumber(2), .success(Script.admitted(held: Tally(items: 2, bytes: 20)))))
    let end = LedgerPart(pages: [], partials: [], end: Tally(items: 2, bytes: 21))
    #expect(
      script.feed(.ledger(SessionNumber(2), .success(end))) == ["tell resumed 21", "say 3 held end 2/21"])
    _ = script.finish(2, on: 3)
    _ = script.feed(.syncEnded(SessionNumber(2), nil))
    #expect(script.imported().first?.contains("held 21") == true)
  }

  @Test func `progress is reported five times a second while data may arrive`() {
    var script = Script.receiving()
    #expect(script.engine.nextMoment == 0.2)
    #expect(script.feed(.timePassed, after: 0.1) == [])
    #expect(script.feed(.timePassed, after: 0.1) == ["tell progress of 100: receiving of 4/40"])
    #expect(script.engine.nextMoment == 0.4)
    #expect(script.feed(.timePassed, after: 0.1) == [])
    _ = script.finish()
    #expect(script.engine.nextMoment == nil)
    #expect(script.feed(.timePassed, after: 1) == [])
  }
}
