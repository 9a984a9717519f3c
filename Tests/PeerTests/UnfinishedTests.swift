import Expectations
import MigrationEngine
import MigrationTLS
import MigrationWire
import Testing

@testable import MigrationTransfer
@testable import peer

@Suite struct UnfinishedTests {
  private func listed(
    _ subject: TransferRecord.Subject, inUse: Bool = false, isDone: Bool = false, held: UInt64 = 1_200_000_000
  ) throws -> TransferStore.Listed {
    let identity = try Identity.generate()
    let role: Role = if case .sources = subject { .sender } else { .receiver }
    var remembered = TransferRecord(
      transfer: 0x0123_4567 << 96, role: role, identity: try identity.encoded(), peer: identity.fingerprint,
      label: "old\u{1B} laptop", address: "192.0.2.7:1", started: 0, lastSeen: 1_000,
      total: Tally(items: 9, bytes: 3_000_000_000), held: Tally(items: 2, bytes: held), subject: subject,
      plan: Plan([Part(.folders([Root(kind: .file, name: [0x61])]), name: "a")]), parts: [PartRecord()])
    if isDone { remembered.parts[0].finished = .init(done: Done(total: Tally()), at: 5) }
    return TransferStore.Listed(remembered: remembered, isInUse: inUse)
  }

  private var destination: TransferRecord.Subject { .destination(Array("/srv/in".utf8), port: 1) }

  @Test func `the table for a person has no completed transfers`() throws {
    var listing = TransferStore.Listing()
    listing.transfers = [
      try listed(.sources(["/home/ann/Documents", "/b"].map { Array($0.utf8) })),
      try listed(destination, inUse: true), try listed(destination, isDone: true),
    ]
    listing.damaged = [TransferStore.Damaged(identifier: String(repeating: "f", count: 32), reason: "it is too short")]
    listing.leftovers = [Self.leftover]
    let text = listing.table(now: 1_000 + 7_200)
    expect(text.standardError.isEmpty)
    expect(
      text.standardOutput,
      is: """
        ID        WHAT                                    DEVICE            ARRIVED     LAST CONNECTED
        01234567  sending /home/ann/Documents and 1 more  old\\u{1b} laptop  1.2/3.0 GB  2 hours ago
        01234567  receiving into /srv/in                  old\\u{1b} laptop  1.2/3.0 GB  in use
        ffffffff  it is too short
        00000000  left in /srv/in, without its record                                   1 hour ago

        """)
  }

  @Test func `a transfer of which everything is here says that it is not in place yet, and what comes next`() throws {
    expect(try listed(destination).notice().contains("(1.2/3.0 GB): it resumes when"))
    let whole = try listed(destination, held: 3_000_000_000)
    expect(
      whole.notice().contains(
        "sends, which is not in its place yet: that follows when that device runs its 'peer send'"))
    expect(
      TransferStore.Listing(transfers: [whole]).table(now: 1_000).standardOutput
        .contains("all, not in place"))
  }

  @Test func `a transfer that a later one may have overtaken says that its device may never continue it`() throws {
    let one = try listed(destination)
    expect(
      one.notice(complete: 1_001).contains("installed anew") && one.notice(complete: 1_001).contains("'peer forget"))
    expect(one.notice(complete: 1_000), is: one.notice())
  }

  private static let leftover = TransferStore.Leftover(
    identifier: 5, name: [], destination: Array("/srv/in".utf8), modified: 4_600)

  @Test func `without transfers, a person gets a sentence and a program nothing`() {
    let text = TransferStore.Listing().table(now: 0)
    expect(text, is: Rendering(standardError: "There are no unfinished transfers.\n"))
    expect(TransferStore.Listing().lines, is: Rendering())
  }

  @Test func `a migration of one part names its home`() throws {
    var listing = TransferStore.Listing()
    let sources = [Migration.name(of: Array("/home/ann".utf8)), Array("/home/ann/Documents".utf8)]
    listing.transfers = [try listed(.sources(sources))]
    expect(
      listing.lines.standardOutput.contains(#""home":"/home/ann","sources":[{"path":"/home/ann/Documents"}]"#))
  }

  @Test func `the report for a program has an object per line`() throws {
    var listing = TransferStore.Listing()
    listing.transfers = [
      try listed(.sources([[0x2F, 0xFF]])), try listed(destination, inUse: true),
      try listed(destination, isDone: true),
    ]
    listing.damaged = [TransferStore.Damaged(identifier: "ff", reason: "it is too short")]
    listing.leftovers = [Self.leftover]
    let lines = listing.lines.standardOutput.split(separator: "\n").map(String.init)
    let rest =
      #""label":"old\u001b laptop","address":"192.0.2.7:1","items":9,"bytes":3000000000,"heldBytes":1200000000,"#
      + #""started":"1970-01-01T00:00:00Z","lastConnected":"1970-01-01T00:16:40Z","inUse":"#
    let identifier = "01234567" + String(repeating: "0", count: 24)
    expect(
      lines,
      is: [
        #"{"event":"transfer","id":"\#(identifier)","role":"sender","sources":[{"path":"/\\xff","pathBase64":"L/8="}],"#
          + rest + "false}",
        #"{"event":"transfer","id":"\#(identifier)","role":"receiver","destination":"/srv/in","# + rest + "true}",
        #"{"event":"damaged","id":"ff","message":"it is too short"}"#,
        #"{"event":"leftover","id":"00000000000000000000000000000005","destination":"/srv/in","modified":"1970-01-01T01:16:40Z"}"#,
      ])
  }

  @Test(
    arguments: [
      (0, "just now"), (59, "just now"), (60, "1 minute ago"), (7_199, "1 hour ago"), (86_400 * 3, "3 days ago"),
      (-5, "just now"),
    ] as [(Int64, String)]) func `an elapsed time is shown in words`(seconds: Int64, text: String)
  {
    expect(Figures.ago(seconds), is: text)
  }
}

@Suite struct PatienceTests {
  @Test(
    arguments: [
      ("0", 0), ("45", 45), ("90s", 90), ("10m", 600), ("2h", 7_200), ("720h", 2_592_000),
    ] as [(String, Double)]) func `a time is in seconds, or has a unit`(text: String, seconds: Double) throws
  {
    let command = try Command(["receive", "--give-up-after", text].map { Array($0.utf8) })
    expect(command, is: .receive(ReceiveOptions(transfer: Receiver.Options(giveUpAfter: seconds))))
  }

  @Test func `the default is ten minutes`() throws {
    expect(try Command([Array("receive".utf8)]), is: .receive(ReceiveOptions()))
  }
}
