import Expectations
import MigrationCredentials
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationVault

/// The vault refuses an item that differs from its stored form, and the store stays unchanged.
@Suite struct DamageTests {
  private let home: Home

  init() throws {
    home = try Home()
    try home.add(password("one"))
    try home.add(password("two"))
    try home.add(password("other's"), to: other)
  }

  /// Requires that every operation that reads an owner's items refuses, and changes nothing.
  private func refused(_ owner: CredentialOwner, _ comment: Comment? = nil) throws {
    let content = home.content()
    expect(home.refusal(owner), is: .decode, comment)
    let error = thrown { () throws(Failure) in
      _ = try home.vault().remove(labelled: "two", of: owner)
    }
    expect(error?.code, is: .damaged, comment)
    expect(error?.hint?.contains("peer credentials remove \(owner.name)"), is: true)
    let listing = try home.vault().list { $0 == owner }
    expect(listing.items.filter { $0.item == nil && $0.problem?.contains("is damaged") == true }.count, is: 1, comment)
    expect(home.content(), is: content, comment)
  }

  @Test func `the vault refuses an item with a changed bit anywhere in its file`() throws {
    let file = home.files()[0]
    let bytes = home.scratch.read(file)
    for index in bytes.indices {
      home.scratch.patch(file, [bytes[index] ^ 1 << UInt8(index % 8)], at: index)
      expect(home.refusal(), is: .decode, "byte \(index)")
      home.scratch.patch(file, [bytes[index]], at: index)
    }
    expect(home.refusal() == nil)
    home.scratch.patch(file, [bytes[20] ^ 1], at: 20)
    try refused(notes)
  }

  @Test func `the vault refuses an item that was cut or extended`() throws {
    let file = home.files()[0]
    let bytes = home.scratch.read(file)
    for count in 0..<bytes.count {
      home.scratch.write(file, bytes[..<count])
      expect(home.refusal(), is: .decode, "\(count) bytes")
    }
    home.scratch.write(file, bytes + [0])
    expect(home.refusal(), is: .decode)
    home.scratch.write(file, bytes + [UInt8](repeating: 0, count: SealedItem.longest))
    expect(home.refusal(), is: .decode)
    home.scratch.write(file, bytes.dropLast())
    try refused(notes)
  }

  @Test func `the vault refuses an item that was moved to another owner`() throws {
    let name = home.files(other)[0].split(separator: "/").last!
    try home.shell("mv \(home.files(other)[0]) home/credentials/\(notes.name)/\(name)")
    try refused(notes)
  }

  @Test func `the vault refuses an item in the place of another item of its owner`() throws {
    let files = home.files()
    try home.shell("cp \(files[0]) \(files[1])")
    try refused(notes)
  }

  @Test func `the vault refuses an item of another store`() throws {
    let elsewhere = try Home()
    try elsewhere.add(password("one"))
    // It has this store's key, but its tag covers the name of the other store.
    let name = String(elsewhere.files()[0].split(separator: "/").last!)
    let vault = elsewhere.vault()
    let key = try #require(try vault.key(of: vault.folder.open()))
    let sealed = try SealedItem.seal(
      password("one"), name, of: notes, in: String(repeating: "0", count: 32), with: key.key)
    elsewhere.scratch.write(elsewhere.files()[0], sealed)
    expect(elsewhere.refusal(), is: .decode)
  }

  @Test(arguments: ["mkfifo", "mkdir", "ln -s two"]) func `an item other than a file is refused`(maker: String) throws {
    let file = home.files()[0]
    try home.shell("mv \(file) kept; \(maker) \(file)")
    expect(home.refusal() != nil)
    try home.shell("rm -r \(file); mv kept \(file)")
    expect(home.refusal() == nil)
  }

  @Test func `other owners' items stay available, and all items of an owner can be removed`() throws {
    let file = home.files()[0]
    home.scratch.write(file, [])
    expect(try home.items(other), is: [password("other's")])
    expect(try home.vault().removeAll(of: notes), is: 2)
    expect(try home.items(), is: [])
    expect(try home.items(other), is: [password("other's")])
  }
}
