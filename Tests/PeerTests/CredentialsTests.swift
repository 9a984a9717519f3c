import Expectations
import MigrationArchive
import MigrationCredentials
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import Testing

@testable import MigrationVault
@testable import peer

/// The options and the output of `peer credentials` and `peer account`.
@Suite struct CredentialsTests {
  private let notes = CredentialOwner(app: "org.example.notes")
  private let clip = CredentialOwner(clip: "org.example.notes.Clip", of: "org.example.notes")!

  private func command(_ words: String...) throws -> Command { try Command(words.map { Array($0.utf8) }) }

  @Test func `the parser reads the commands`() throws {
    expect(try command("credentials", "list"), is: .credentials(.list(of: nil), json: false))
    expect(try command("credentials", "list", "a.b", "--json"), is: .credentials(.list(of: "a.b"), json: true))
    expect(
      try command("credentials", "remove", "org.example.notes@Clip"),
      is: .credentials(.remove(clip, label: nil), json: false))
    expect(
      try command("credentials", "remove", "org.example.notes", "--label=a b", "--json"),
      is: .credentials(.remove(notes, label: "a b"), json: true))
    expect(
      try command("account", "authorize", "u 1", "--app", "x"),
      is: .account(.record(.authorized, user: "u 1", app: "x"), json: false))
    expect(
      try command("account", "revoke", "--json", "--app=x", "u"),
      is: .account(.record(.revoked, user: "u", app: "x"), json: true))
    expect(try command("account", "list", "--json"), is: .account(.list, json: true))
  }

  @Test func `the table shows no secret, and notes why an item cannot be opened`() {
    var listing = CredentialVault.Listing()
    expect(listing.table, is: Rendering(standardError: "There are no credentials.\n"))
    let time = Timestamp(seconds: 1_000)
    listing.items = [
      .init(owner: notes, item: .init(kind: .genericPassword, label: "sign\u{1B}in", modified: time), problem: nil),
      .init(owner: notes, item: nil, problem: "the credential 00 is damaged"),
      .init(owner: clip, item: .init(kind: .key, label: nil, modified: time), problem: nil),
    ]
    expect(
      listing.table.standardOutput,
      is: """
        OWNER                   CLASS     LABEL         CHANGED
        org.example.notes       password  sign\\u{1b}in  1970-01-01T00:16:40Z
        org.example.notes       damaged
        org.example.notes@Clip  key                     1970-01-01T00:16:40Z

        """)
    expect(listing.table.standardError, is: "peer: note: the credential 00 is damaged\n")
    let head = #"{"event":"credential","owner":"org.example.notes"#
    expect(
      listing.lines.standardOutput.split(separator: "\n").map(String.init),
      is: [
        head
          + #"","class":"genericPassword","label":"sign\u001bin","date":"1970-01-01T00:16:40Z","problem":null}"#,
        head + #"","class":null,"label":null,"date":null,"problem":"the credential 00 is damaged"}"#,
        head + #"@Clip","class":"key","label":null,"date":"1970-01-01T00:16:40Z","problem":null}"#,
      ])
  }

  @Test func `without the key, the table shows the owners, and one note names the cause`() {
    var listing = CredentialVault.Listing()
    listing.obstacle = Failure(.unavailable, "the key is missing", hint: "Find it.")
    listing.items = [notes, clip].map { .init(owner: $0, item: nil, problem: "the key is missing") }
    expect(listing.table.standardError, is: "peer: note: the key is missing\npeer: note: Find it.\n")
    expect(
      listing.table.standardOutput.split(separator: "\n").map(String.init),
      is: [
        "OWNER                   CLASS   LABEL  CHANGED", "org.example.notes       sealed",
        "org.example.notes@Clip  sealed",
      ])
  }

  @Test func `accounts are listed`() {
    let entries = [
      AccountCommand.Entry(owner: notes, record: .init(user: "001", state: .revoked)),
      AccountCommand.Entry(owner: clip, record: .init(user: "a\u{202E}", state: .authorized)),
    ]
    expect(AccountCommand.table([], []), is: Rendering(standardError: "No sign-ins are recorded.\n"))
    let rows = AccountCommand.table(entries, []).standardOutput.split(separator: "\n").map(String.init)
    expect(rows[0].split(separator: " "), is: ["OWNER", "USER", "STATE"])
    expect(rows[1].split(separator: " "), is: ["org.example.notes", "001", "revoked"])
    expect(!rows[2].unicodeScalars.contains("\u{202E}") && rows[2].hasSuffix("authorized"))
    let damaged = [(owner: notes, error: Failure(.damaged, "the record is damaged"))]
    expect(AccountCommand.table([], damaged), is: Rendering(standardError: "peer: note: the record is damaged\n"))
    expect(
      AccountCommand.lines([entries[0]], damaged).standardOutput,
      is: """
        {"event":"account","owner":"org.example.notes","user":"001","state":"revoked"}
        {"event":"damaged","id":"org.example.notes","message":"the record is damaged"}

        """)
  }

  @Test(
    arguments: [(.unavailable, 1), (.damaged, 1), (.failed, 1), (.full, 4)] as [(Failure.Code, Int32)])
  func `each kind of failure has its exit code`(code: Failure.Code, number: Int32) {
    expect(ExitCode.of(Failure(code, "a")), is: number)
    let full = SystemError(errno: 28, operation: "write")
    expect(ExitCode.of(Failure(.failed, "a", cause: full)), is: 6)
  }
}
