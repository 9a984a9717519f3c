import Expectations
import Glibc
import MigrationCredentials
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationVault

@Suite struct StoreTests {
  @Test func `another process finds an item until it is removed`() throws {
    let home = try Home()
    try home.add(password("late", at: 2_000))
    try home.add(password("early"))
    try home.add(password("clip's"), to: clip)
    expect(try home.items().map(\.attributes), is: [password("early"), password("late")].map(\.attributes))
    expect(try home.items(clip), is: [password("clip's")])
    expect(try home.items(other), is: [])

    let vault = home.vault()
    try vault.locked { () throws(CredentialStatus) in
      let first = try vault.items(of: notes)[0]
      try vault.replace(first.name, of: notes, with: password("early", "another"))
      expect(try vault.items(of: notes)[0], is: StoredCredential(name: first.name, item: password("early", "another")))
      try vault.remove(first.name, of: notes)
    }
    expect(try home.items(), is: [password("late", at: 2_000)])
    try vault.locked { () throws(CredentialStatus) in
      for item in try vault.items(of: notes) { try vault.remove(item.name, of: notes) }
    }
    expect(!home.scratch.exists("home/credentials/\(notes.name)"))
    expect(vault.hasItems(of: clip) && !vault.hasItems(of: notes))
  }

  @Test func `the vault makes no file before it stores an item`() throws {
    let home = try Home()
    let vault = home.vault()
    expect(try vault.list(), is: CredentialVault.Listing())
    expect(try vault.owners(), is: [])
    expect(try vault.removeAll(of: notes), is: 0)
    expect(try vault.remove(labelled: "a", of: notes), is: 0)
    expect(try vault.accounts.records(of: notes), is: [])
    expect(home.scratch.names(), is: [])
    expect(try home.items(), is: [])
    expect(home.scratch.names(), is: ["home"])
  }

  @Test func `files belong to this user alone under any umask, and hold no plain text`() throws {
    let home = try Home()
    try home.add(password("a label", "a long secret that is looked for"))
    let item = try #require(home.files().first)
    for file in [item, "home/credentials/.store", home.key] { expect(home.mode(file), is: 0o600) }
    for folder in ["home", "home/credentials", "home/credentials/\(notes.name)", "state/peer/keys"] {
      expect(home.mode(folder), is: 0o700)
    }
    let bytes = home.scratch.read(item)
    for text in ["a label", "a long secret that is looked for", "account of"] {
      expect(bytes.firstRange(of: Array(text.utf8)) == nil)
    }
    let key = home.scratch.read(home.key)[4..<36]
    expect(home.scratch.read("home/credentials/.store").firstRange(of: key) == nil)
    expect(bytes.firstRange(of: key) == nil)
  }

  @Test func `each write seals with another nonce`() throws {
    let home = try Home()
    try home.add(password("a"))
    let file = try #require(home.files().first)
    var seen: Set<[UInt8]> = [home.scratch.read(file)]
    let vault = home.vault()
    try vault.locked { () throws(CredentialStatus) in
      let name = try vault.items(of: notes)[0].name
      for _ in 0..<8 {
        try vault.replace(name, of: notes, with: password("a"))
        seen.insert(home.scratch.read(file))
      }
    }
    expect(seen.count, is: 9)
    expect(Set(seen.map { $0[4..<16] }).count, is: 9)
  }

  @Test func `the largest item fits, and the number of items has a limit`() throws {
    let home = try Home()
    let vault = home.vault()
    var item = password("a", String(repeating: "s", count: CredentialLimits.data))
    item.attributes[.comment] = .text(String(repeating: "c", count: CredentialLimits.attributes - 64))
    let largest = item
    try vault.locked { () throws(CredentialStatus) in try vault.add(largest, to: notes) }
    expect(try home.items(), is: [largest])
    for number in 1..<CredentialLimits.items {
      let digits = String(number, radix: 16)
      home.scratch.write(
        "home/credentials/\(notes.name)/" + String(repeating: "0", count: 32 - digits.count) + digits, [])
    }
    let error = thrown { () throws(CredentialStatus) in
      try vault.locked { () throws(CredentialStatus) in try vault.add(largest, to: notes) }
    }
    expect(error, is: .dataTooLarge)
    expect(home.files().count, is: CredentialLimits.items)
  }

  @Test func `two parallel writers lose nothing`() throws {
    let home = try Home()
    let writers = try (0..<2).map { number in
      try RunningThread("writer \(number)") {
        // Each writer is like a separate process; both may find no store yet.
        for count in 0..<20 { try home.add(password("\(number) \(count)")) }
      }
    }
    for writer in writers { try writer.value() }
    expect(Set(try home.items().map { $0.attributes[.label] }).count, is: 40)
    expect(home.scratch.names("state/peer/keys").count, is: 1)
  }

  @Test func `waiting too long for a lock ends in a refusal that names its holder`() throws {
    let home = try Home()
    try home.add(password("a"))
    let folder = VaultFolder(home: home.path, name: "credentials", observer: nil)
    let (one, two) = (try folder.open(), try folder.open())
    let lock = try folder.lock(one)
    defer { withExtendedLifetime(lock) {} }
    let error = thrown { () throws(Failure) in _ = try folder.lock(two, within: .milliseconds(50)) }
    expect(error?.code, is: .unavailable)
    expect(error?.description.contains("(process \(getpid()))"), is: true)
  }

  @Test func `a directory with another name belongs to no owner`() throws {
    let home = try Home()
    try home.add(password("a"))
    for name in [".hidden", "a@", "@a", "a..b", "a@b@c", "a b"] {
      home.scratch.makeDirectory("home/credentials/\(name)")
    }
    expect(try home.vault().owners(), is: [notes])
    for name in ["..", ".", "", "a/b", "org.example@../../x"] { expect(CredentialOwner(stored: name) == nil) }
    expect(CredentialOwner(stored: clip.name), is: clip)
  }
}
