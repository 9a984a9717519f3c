import Expectations
import MigrationCredentials
import MigrationWire
import TestSupport
import Testing

@testable import MigrationVault

@Suite struct AccountTests {
  @Test func `a user is authorized and revoked, for one owner`() throws {
    let home = try Home()
    let vault = home.vault()
    expect(try vault.account("001", of: notes) == nil)
    try vault.accounts.record(.authorized, of: "001", for: notes)
    try vault.accounts.record(.authorized, of: " 002 ä", for: notes)
    try vault.accounts.record(.authorized, of: "001", for: clip)
    try vault.accounts.record(.revoked, of: "001", for: notes)
    expect(home.scratch.text("home/accounts/\(notes.name)"), is: "revoked 001\nauthorized  002 ä\n")
    expect(home.mode("home/accounts") == 0o700 && home.mode("home/accounts/\(notes.name)") == 0o600)
    let again = home.vault()
    expect(try again.account("001", of: notes), is: .revoked)
    expect(try again.account(" 002 ä", of: notes), is: .authorized)
    expect(try again.account("002 ä", of: notes) == nil)
    expect(try again.account("001", of: clip), is: .authorized)
    expect(try again.account("001", of: other) == nil)
    expect(try again.accounts.owners(), is: [notes, clip])
    // Accounts need no credential, and therefore no key.
    expect(home.scratch.names(), is: ["home"])
  }

  @Test func `a user's identifier is one line`() {
    for user in ["a", "001234.0f", "a b", String(repeating: "u", count: CredentialLimits.user)] {
      expect(AccountRecords.isUser(user))
    }
    for user in [
      "", "a\nauthorized b", "a\r", "a\u{7F}", "\u{0}", String(repeating: "u", count: CredentialLimits.user + 1),
    ] {
      expect(!AccountRecords.isUser(user))
    }
  }

  @Test(arguments: [
    "authorized 1", "authorized\n", "allowed 1\n", "authorized 1\nrevoked 1\n", "\n", "revoked \n", "revoked \u{7}\n",
  ])
  func `a damaged record is refused, and stays`(text: String) throws {
    let home = try Home()
    home.scratch.write("home/accounts/\(notes.name)", text)
    let vault = home.vault()
    expect(thrown { () throws(CredentialStatus) in _ = try vault.account("1", of: notes) }, is: .decode)
    let error = thrown { () throws(Failure) in try vault.accounts.record(.authorized, of: "1", for: notes) }
    expect(error?.code, is: .damaged)
    expect(home.scratch.text("home/accounts/\(notes.name)"), is: text)
  }

  @Test func `two parallel writers lose nothing, and the number of users has a limit`() throws {
    let home = try Home()
    let writers = try (0..<2).map { number in
      try RunningThread("writer \(number)") {
        for count in 0..<20 { try home.vault().accounts.record(.authorized, of: "\(number).\(count)", for: notes) }
      }
    }
    for writer in writers { try writer.value() }
    expect(try home.vault().accounts.records(of: notes).count, is: 40)
    home.scratch.write(
      "home/accounts/\(notes.name)", (0..<AccountRecords.most).map { "revoked \($0)\n" }.joined())
    let error = thrown { () throws(Failure) in
      try home.vault().accounts.record(.authorized, of: "more", for: notes)
    }
    expect(error?.code, is: .full)
    try home.vault().accounts.record(.authorized, of: "7", for: notes)
    expect(try home.vault().account("7", of: notes), is: .authorized)
  }
}
