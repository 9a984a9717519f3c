import Expectations
import MigrationApps
import MigrationEngine
import MigrationTransfer
import MigrationWire
import Testing

@testable import peer

@Suite final class JSONReportTests {
  private var report = JSONReport()

  private func line(_ event: TransferEvent, at elapsed: Double = 0) -> String {
    let rendering = report.handle(event, at: Samples.moment(elapsed))
    expect(rendering.standardError.isEmpty)
    return rendering.standardOutput
  }

  static let lines: [(TransferEvent, String)] = [
    (
      .found(label: "a\u{1B}", address: "192.0.2.7"), #"{"event":"found","label":"a\u001b","address":"192.0.2.7"}"#
    ),
    (.looking, #"{"event":"looking"}"#),
    (
      .listening(Listening(addresses: ["192.0.2.7", "fe80::1%eth0"], shown: ["192.0.2.7"], port: 47470)),
      #"{"event":"listening","addresses":["192.0.2.7","fe80::1%eth0"],"shown":["192.0.2.7"],"port":47470,"from":[]}"#
    ),
    (
      .listening(Listening(addresses: ["192.0.2.7"], port: 1, from: ["192.0.2.0/24", "::1"])),
      #"{"event":"listening","addresses":["192.0.2.7"],"shown":["192.0.2.7"],"port":1,"from":["192.0.2.0/24","::1"]}"#
    ),
    (
      .code(PairingCode(number: 4_829_136), lifetime: 600),
      #"{"event":"code","code":"4829-1367","expires":"2026-11-21T01:13:42Z"}"#
    ),
    (
      .wrongCode(attempt: 1, allowed: 3, from: "192.0.2.7", left: 98),
      #"{"event":"wrongCode","attempt":1,"allowed":3,"from":"192.0.2.7","left":98}"#
    ),
    (
      .codesSpent(count: 99, from: [GuessLimit.Count(network: "2001:db8::/64", count: 99)], isOver: true),
      #"{"event":"codesSpent","count":99,"from":[{"address":"2001:db8::/64","count":99}]}"#
    ),
    (.connecting(address: "192.0.2.7:47470"), #"{"event":"connecting","address":"192.0.2.7:47470"}"#),
    (.queued(place: 3), #"{"event":"queued","place":3}"#),
    (.queued(place: 0), #"{"event":"queued","place":null}"#),
    (
      .paired(label: "old\"\u{9B}", address: "192.0.2.7"),
      #"{"event":"paired","label":"old\"\u009b","address":"192.0.2.7","known":false}"#
    ),
    (
      .offer(Samples.offer, availableBytes: nil),
      #"{"event":"offer","roots":[{"name":"Docs","kind":"directory"},"#
        + #"{"name":"a\\xff","nameBase64":"Yf8=","kind":"file"}],"#
        + #""items":1204,"bytes":3200000000,"availableBytes":null}"#
    ),
    (
      Samples.progress(500),
      #"{"event":"progress","phase":"receiving","bytes":500,"totalBytes":1000,"items":1,"totalItems":2,"#
        + #""bytesPerSecond":0,"secondsLeft":null}"#
    ),
    (
      .progress(TransferProgress(phase: .sending, bytes: 500, totalBytes: nil, items: 1, totalItems: 2)),
      #"{"event":"progress","phase":"sending","bytes":500,"totalBytes":null,"items":1,"totalItems":2,"#
        + #""bytesPerSecond":0,"secondsLeft":null}"#
    ),
    (.interrupted(reason: "silence"), #"{"event":"interrupted","reason":"silence"}"#),
    (.resumed(heldBytes: 7), #"{"event":"resumed","heldBytes":7}"#),
    (
      .unconfined(reason: "it would not work", directories: [[0x2F, 0xFF]]),
      #"{"event":"unconfined","message":"it would not work","directories":[{"path":"/\\xff","pathBase64":"L/8="}]}"#
    ),
    (.staged, #"{"event":"staged"}"#),
    (.importing, #"{"event":"importing"}"#),
    (
      .notStored(Samples.unsent),
      #"{"event":"notStored","path":"a/\\u{1b}\\xff","pathBase64":"YS8b/w==","by":"sender","reason":"unreadable","#
        + #""message":"Permission denied"}"#
    ),
    (
      .notStored(Samples.socket),
      #"{"event":"notStored","path":"a/socket","by":"sender","reason":"notSendable","message":null}"#
    ),
    (
      .done(
        Samples.result(
          held: 5, seconds: 14.20049, unsent: 2, losses: [Done.Loss(kind: .owner, count: 3)],
          lostAttributes: [LostAttribute(name: [0x61, 0xFF], count: 7)], concludedAt: 1_795_223_022)),
      #"{"event":"done","items":1204,"bytes":3200000000,"sentBytes":2900000000,"savedBytes":0,"heldBytes":5,"#
        + #""seconds":14.2,"unsent":2,"notStored":0,"losses":[{"kind":"owner","count":3}],"present":0,"differing":0,"#
        + #""renamed":0,"removed":0,"removedUnsettled":0,"lostAttributes":[{"name":"a\\xff","nameBase64":"Yf8=","count":7}],"failedParts":0,"presentParts":0,"concluded":"2026-11-21T01:03:42Z"}"#
    ),
    (
      .notStored(NotStored(path: Array("a/b".utf8), .existsAndDiffers)),
      #"{"event":"notStored","path":"a/b","by":"user","reason":"existsAndDiffers","message":null}"#
    ),
    (
      .notStored(NotStored(path: Array("a/b:c".utf8), .nameNotAllowed, error: 22)),
      #"{"event":"notStored","path":"a/b:c","by":"receiver","reason":"nameNotAllowed","message":"Invalid argument"}"#
    ),
    (
      .renamed(path: Array("a".utf8), target: Array("a (2)".utf8)),
      #"{"event":"renamed","path":"a","arrivedAs":"a (2)"}"#
    ),
  ]

  @Test(arguments: lines.indices)
  func `every event is one object on one line`(index: Int) {
    let (event, text) = Self.lines[index]
    expect(line(event), is: text + "\n")
  }

  @Test func `a run that waits has advice with the command for the firewall`() {
    report = JSONReport(behind: .ufw)
    let listening = line(.listening(Listening(addresses: [], port: 7)))
    expect(listening.contains(#""advice":"Still waiting for 'peer send'"#))
    expect(listening.contains("sudo ufw allow 7/tcp"))
    let connecting = line(.connecting(address: "192.0.2.7"))
    expect(connecting.contains(#""advice":"Still waiting for 'peer receive' at 192.0.2.7"#))
  }

  @Test func `what the user does next is in the result`() {
    report.advise(
      [NextStep(kind: .install, sentence: "To install: apt install a", names: ["a"])],
      leavingOut: [Omission([0x62], .newer(part: nil)), Omission([0x63], .trash)])
    let done = line(.done(Samples.result()))
    expect(done.contains(#""nextSteps":["To install: apt install a"],"steps":[{"step":"install","names":["a"]}]"#))
    expect(done.contains(#""newer":[{"path":"b"}]"#))
  }

  @Test func `a failure names its entry and has exact figures`() {
    let rendering = report.fail(
      Failure(.refused, "no", name: [0x61, 0xFF], bytes: Close.Space(needed: 12_300_000_000, available: 1)))
    expect(
      rendering.standardOutput,
      is: #"{"event":"error","code":4,"kind":"refused","cause":"refused","there":false,"message":"no","hint":null,"#
        + #""name":"a\\xff","nameBase64":"Yf8=","#
        + #""neededBytes":12300000000,"availableBytes":1}"# + "\n")
  }

  @Test func `a failure has the name of its cause, wherever that is, and none where the other device has a new one`() {
    func cause(_ failure: Failure) -> String { "\(failure.cause ?? "none") \(failure.isTold)" }
    expect(cause(Failure(.appInUse, "")), is: "appInUse false")
    expect(cause(Failure(told: Close(.appInUse))), is: "appInUse true")
    expect(cause(Failure(told: Close(.unfit, for: .appHasData))), is: "appHasData true")
    expect(cause(Failure(told: Close(.refused))), is: "declined true")
    expect(cause(Failure(told: Close(Close.Code(rawValue: 999), "words"))), is: "none true")
    // Each code that has words has a name.
    for number in 2...22 as ClosedRange<UInt16> {
      expect(Failure(told: Close(Close.Code(rawValue: number))).cause != nil, "\(number)")
    }
  }

  @Test func `the offer of an app has its identity`() {
    let app = AppIdentity(bundleIdentifier: "com.example.notes", store: "s", platform: "Linux", version: "1.2")
    let offer = Offer(contents: .app(app), items: 1, bytes: 2, allocated: 3, flags: .estimated)
    expect(
      line(.offer(offer, availableBytes: 9)),
      is: #"{"event":"offer","app":{"bundleIdentifier":"com.example.notes","store":"s","platform":"Linux","#
        + #""version":"1.2"},"items":1,"bytes":2,"availableBytes":9}"# + "\n")
  }

  @Test func `progress comes at most ten times a second, with its rate`() {
    var lines = 0
    for tick in 0...1000 where !line(Samples.progress(UInt64(tick), of: 2000), at: Double(tick) / 1000).isEmpty {
      lines += 1
    }
    expect((9...11).contains(lines))
    expect(line(Samples.progress(1500, of: 2000), at: 1.5).contains(#""bytesPerSecond":1000,"secondsLeft":1}"#))
  }

  @Test func `progress is repeated while nothing moves, but not without a connection`() {
    expect(report.tick(at: Samples.moment()), is: Rendering())
    _ = line(Samples.progress(1))
    expect(report.tick(at: Samples.moment(1)).standardOutput.hasPrefix(#"{"event":"progress""#))
    _ = line(.interrupted(reason: "silence"))
    expect(report.tick(at: Samples.moment(2)), is: Rendering())
  }

  @Test func `missed messages are an event`() {
    expect(report.missed(12), is: Rendering(standardOutput: #"{"event":"missed","messages":12}"# + "\n"))
  }

  @Test func `a failure is reported to the program and to the person`() {
    let rendering = report.fail(Failure(.noSpace, "the disk is \"full\"", hint: "make room"))
    expect(
      rendering.standardOutput,
      is: #"{"event":"error","code":6,"kind":"noSpace","cause":"noSpace","there":false,"#
        + #""message":"the disk is \"full\"","hint":"make room"}"# + "\n")
    expect(rendering.standardError, is: "peer: error: the disk is \"full\"\npeer: hint: make room\n")
  }

  @Test func `events have their time, and those about a transfer its identifier, until it has ended`() {
    report = JSONReport { 86_399 }
    let (time, transfer) = (#","time":"1970-01-01T23:59:59Z"}"#, #","transfer":"00000000000000000000000000000005""#)
    expect(line(.looking), is: #"{"event":"looking""# + time + "\n")
    expect(line(.transfer(5)).isEmpty)
    expect(line(.staged), is: #"{"event":"staged""# + transfer + time + "\n")
    expect(line(.announced(name: "a")), is: #"{"event":"announced","name":"a""# + time + "\n")
    expect(line(.done(Samples.result())).hasSuffix(transfer + time + "\n"))
    expect(line(.staged), is: #"{"event":"staged""# + time + "\n")
    _ = line(.transfer(6))
    expect(!line(.paired(label: "a", address: "b")).contains("transfer"))
  }
}
