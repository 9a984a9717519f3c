import Glibc
import MigrationCredentials
import MigrationHost
import MigrationSystem
import MigrationWire
import TestSupport

@testable import MigrationVault

let notes = CredentialOwner(app: "org.example.notes")
let clip = CredentialOwner(clip: "org.example.notes.Clip", of: "org.example.notes")!
let other = CredentialOwner(app: "org.example.other")

/// A password.
func password(_ label: String, _ secret: String = "hunter2", at seconds: Int64 = 1_000) -> CredentialItem {
  let time = Timestamp(seconds: seconds)
  return CredentialItem(
    .genericPassword, [.label: .text(label), .account: .text("account of \(label)")], data: Array(secret.utf8),
    created: time, modified: time)
}

/// A PEER_HOME and a directory for keys in a scratch directory.
struct Home {
  let scratch: Scratch
  var path: [UInt8] { scratch.at("home") }
  var keys: [UInt8] { scratch.at("state/peer/keys") }

  init() throws { scratch = try Scratch() }

  func vault(observer: HomeFiles.Observer? = nil) -> CredentialVault {
    CredentialVault(home: path, keys: keys, observer: observer)
  }

  /// Adds an item like an app.
  func add(_ item: CredentialItem, to owner: CredentialOwner = notes) throws {
    let vault = vault()
    try vault.locked { () throws(CredentialStatus) in try vault.add(item, to: owner) }
  }

  /// The items that an app finds in a new process.
  func items(_ owner: CredentialOwner = notes) throws -> [CredentialItem] {
    let vault = vault()
    return try vault.locked { () throws(CredentialStatus) in try vault.items(of: owner) }.map(\.item)
  }

  /// The reason why an app finds nothing.
  func refusal(_ owner: CredentialOwner = notes) -> CredentialStatus? {
    let vault = vault()
    return thrown { () throws(CredentialStatus) in
      try vault.locked { () throws(CredentialStatus) in _ = try vault.items(of: owner) }
    }
  }

  /// The places of an owner's items, relative to the scratch directory.
  func files(_ owner: CredentialOwner = notes) -> [String] {
    let folder = "home/credentials/\(owner.name)"
    return scratch.exists(folder) ? scratch.names(folder).map { "\(folder)/\($0)" } : []
  }

  /// The place of the key.
  var key: String { "state/peer/keys/" + scratch.names("state/peer/keys")[0] }

  /// Every file of the store with its content.
  func content() -> [String: [UInt8]] {
    var content: [String: [UInt8]] = [:]
    for owner in scratch.names("home/credentials") where owner != CredentialVault.storeFile {
      for name in scratch.names("home/credentials/\(owner)") {
        content["\(owner)/\(name)"] = scratch.read("home/credentials/\(owner)/\(name)")
      }
    }
    return content
  }

  func mode(_ name: String) -> mode_t {
    var status = stat()
    precondition(stat(scratch.path(name), &status) == 0)
    return status.st_mode & 0o7777
  }

  func shell(_ script: String) throws {
    let code = try run("/bin/sh", ["sh", "-ec", "cd \"$1\"; \(script)", "sh", scratch.path]).code
    precondition(code == 0, script)
  }
}
