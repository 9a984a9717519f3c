import Expectations
import Glibc
import MigrationCredentials
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationVault

/// Without the key, the vault opens nothing and overwrites nothing.
@Suite struct KeyTests {
  private let home: Home

  init() throws {
    home = try Home()
    try home.add(password("a"))
    try home.add(password("clip's"), to: clip)
  }

  /// Requires that a vault opens nothing, changes nothing, gives its reason, and can still remove
  /// items.
  private func isClosed(_ vault: CredentialVault, _ reason: String, content: () -> [String: [UInt8]]) throws {
    let before = content()
    let reading = thrown { () throws(CredentialStatus) in
      try vault.locked { () throws(CredentialStatus) in _ = try vault.items(of: notes) }
    }
    expect(reading, is: .notAvailable)
    let adding = thrown { () throws(CredentialStatus) in
      try vault.locked { () throws(CredentialStatus) in try vault.add(password("b"), to: notes) }
    }
    expect(adding, is: .notAvailable)
    // An owner without items gets the same status.
    let looking = thrown { () throws(CredentialStatus) in
      try vault.locked { () throws(CredentialStatus) in _ = try vault.items(of: other) }
    }
    expect(looking, is: .notAvailable)
    let listing = try vault.list()
    expect(listing.obstacle?.description.contains(reason), is: true, "\(listing.obstacle?.description ?? "open")")
    expect(listing.items.map(\.owner), is: [notes, clip])
    expect(listing.items.allSatisfy { $0.item == nil && $0.problem == listing.obstacle?.description })
    expect(content(), is: before)
    expect(try vault.removeAll(of: notes), is: 1)
    expect(try vault.owners(), is: [clip])
  }

  @Test func `the vault refuses without its key`() throws {
    home.scratch.remove(home.key)
    try isClosed(home.vault(), "the key of the credentials is missing", content: home.content)
    expect(home.scratch.names("state/peer/keys"), is: [])
  }

  @Test func `the vault refuses a copy of PEER_HOME, beside it or elsewhere`() throws {
    let elsewhere = try Home()
    try home.shell("cp -a home copy; cp -a home \(elsewhere.scratch.path)/home")
    let copy = CredentialVault(home: home.scratch.at("copy"), keys: home.keys, observer: nil)
    expect(try copy.list().obstacle?.description.contains("and this is a copy"), is: true)
    expect(try copy.list().items.allSatisfy { $0.item == nil })
    let error = thrown { () throws(CredentialStatus) in
      try copy.locked { () throws(CredentialStatus) in _ = try copy.items(of: notes) }
    }
    expect(error, is: .notAvailable)
    try isClosed(elsewhere.vault(), "the key of the credentials is missing", content: elsewhere.content)
    expect(try home.items(), is: [password("a")])
  }

  @Test func `a moved PEER_HOME, and a PEER_HOME restored from a backup, still open`() throws {
    try home.shell("mv home moved")
    let moved = CredentialVault(home: home.scratch.at("moved"), keys: home.keys, observer: nil)
    expect(try moved.list().items.count { $0.item != nil }, is: 2)
    // From now on this is the key's place, also with another inode.
    try home.shell("cp -a moved backup; rm -r moved; mv backup moved")
    let again = CredentialVault(home: home.scratch.at("moved"), keys: home.keys, observer: nil)
    expect(try again.list().items.count { $0.item != nil }, is: 2)
  }

  @Test func `the vault refuses another key, and a cut key`() throws {
    let bytes = home.scratch.read(home.key)
    home.scratch.patch(home.key, [bytes[10] ^ 1], at: 10)
    expect(home.refusal(), is: .decode)
    for count in 0..<52 {
      home.scratch.write(home.key, bytes[..<count])
      expect(home.refusal(), is: .notAvailable, "\(count) bytes")
    }
    home.scratch.write(home.key, [0] + bytes.dropFirst())
    try isClosed(home.vault(), "is damaged", content: home.content)
  }

  @Test func `the vault refuses a key that other users may read`() throws {
    expect(chmod(home.scratch.path(home.key), 0o640), is: 0)
    try isClosed(home.vault(), "is not for this user alone", content: home.content)
  }

  @Test func `the vault refuses a directory of keys that other users may change`() throws {
    expect(chmod(home.scratch.path("state/peer/keys"), 0o702), is: 0)
    try isClosed(home.vault(), "other users may change", content: home.content)
  }

  @Test(arguments: ["keys", "", "a/../keys"]) func `the vault makes no directory of keys in PEER_HOME`(
    name: String
  ) throws {
    let fresh = try Home()
    let vault = CredentialVault(home: fresh.path, keys: fresh.path + Array("/\(name)".utf8), observer: nil)
    let error = thrown { () throws(CredentialStatus) in
      try vault.locked { () throws(CredentialStatus) in try vault.add(password("a"), to: notes) }
    }
    expect(error, is: .notAvailable)
    expect(fresh.scratch.names("home"), is: ["credentials"])
    expect(fresh.scratch.names("home/credentials"), is: [])
  }

  @Test func `the vault refuses a directory of keys that leads into PEER_HOME by a link`() throws {
    let fresh = try Home()
    try fresh.shell("mkdir -m 700 -p home/inside state/peer; ln -s ../../home/inside state/peer/keys")
    let error = thrown { () throws(any Error) in try fresh.add(password("a")) }
    expect(error as? CredentialStatus == .notAvailable)
    expect(fresh.scratch.names("home/inside"), is: [])
  }

  @Test func `the vault refuses without a place for keys`() throws {
    try isClosed(
      CredentialVault(home: home.path, keys: nil, observer: nil), "there is no place for the key", content: home.content
    )
  }

  @Test func `the vault makes no new store over the items of a store without a name`() throws {
    home.scratch.remove("home/credentials/.store")
    try isClosed(home.vault(), "\".store\" is missing", content: home.content)
    home.scratch.write("home/credentials/.store", "../../../etc/passwd\n")
    try expect(
      home.vault().list().obstacle?.description.contains("\".store\" beside the credentials is damaged"), is: true)
  }

  @Test func `the environment decides the place of the keys`() async {
    // The test has a separate process, since another thread may read this process's environment.
    await #expect(processExitsWith: .success) {
      alarm(UInt32(patience))
      setenv("HOME", "/home/me", 1)
      for (state, keys) in [
        ("/var/state", "/var/state/peer/keys"), ("relative", "/home/me/.local/state/peer/keys"),
        ("", "/home/me/.local/state/peer/keys"),
      ] {
        setenv("XDG_STATE_HOME", state, 1)
        guard CredentialVault.keysDirectory() == Array(keys.utf8) else { exit(1) }
      }
      unsetenv("XDG_STATE_HOME")
      unsetenv("HOME")
      exit(CredentialVault.keysDirectory() == nil ? 0 : 2)
    }
  }
}
