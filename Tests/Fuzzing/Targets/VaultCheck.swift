import FuzzDriver
import Glibc
import MigrationCredentials
import MigrationSystem
import MigrationTLS
import MigrationWire

@testable import MigrationVault

/// The files of the store: sealed items, records of users, and keys. Records and keys are read from
/// real files, in a folder of this process.
final class VaultCheck: Sendable {
  static let shared = VaultCheck()

  private static let store = String(repeating: "0", count: 32)
  private static let name = String(repeating: "1", count: 32)

  private let key = SealingKey(copying: [UInt8](repeating: 7, count: SealingKey.byteCount).span)
  private let owner = CredentialOwner(app: "a")
  private let folder: String
  private let accounts: AccountRecords
  private let keys: KeysDirectory
  private let place = StoreKey.Location(path: Array("/home".utf8), device: 1, inode: 2)

  private init() {
    folder = "\(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp")/peer-fuzz-\(getpid())"
    for made in ["", "/home", "/home/accounts", "/keys"] { mkdir(folder + made, 0o700) }
    accounts = AccountRecords(home: Array("\(folder)/home".utf8))
    do throws(Failure) {
      keys = try KeysDirectory(Array("\(folder)/keys".utf8), besides: Array("\(folder)/home".utf8))
    } catch { fatalError("\(error)") }
    atexit { VaultCheck.shared.remove() }
  }

  private func remove() {
    for made in ["/home/accounts/a", "/keys/\(Self.store)"] { unlink(folder + made) }
    for made in ["/keys", "/home/accounts", "/home", ""] { rmdir(folder + made) }
  }

  func run(_ input: ArraySlice<UInt8>) {
    let bytes = Array(input.dropFirst())
    switch (input.first ?? 0) % 4 {
    case 0: checkItem(bytes)
    case 1: checkChanged(bytes)
    case 2: checkAccounts(bytes)
    default: checkKey(bytes)
    }
  }

  /// Bytes that were not sealed are no item.
  private func checkItem(_ bytes: [UInt8]) {
    promise(
      (try? SealedItem.open(bytes, Self.name, of: owner, in: Self.store, with: key)) == .some(nil), "a file opens")
  }

  /// A sealed item opens as the same, and not if a byte of it is changed, or its end is cut, or in
  /// another place.
  private func checkChanged(_ bytes: [UInt8]) {
    guard bytes.count > 3, let item = read({ try CredentialItem(Array(bytes.dropFirst(3))) }) else { return }
    do throws(Failure) {
      var sealed = try SealedItem.seal(item, Self.name, of: owner, in: Self.store, with: key)
      promise(sealed.count <= SealedItem.longest || bytes.count > 16 << 10, "a file is too long")
      let opened = try SealedItem.open(sealed, Self.name, of: owner, in: Self.store, with: key)
      promise(opened == item, "an item opens as another one")
      let elsewhere = try SealedItem.open(sealed, Self.store, of: owner, in: Self.store, with: key)
      promise(elsewhere == nil, "an item opens in another place")
      let index = (Int(bytes[0]) << 8 | Int(bytes[1])) % sealed.count
      if bytes[2] == 0 { sealed.removeLast(sealed.count - index) } else { sealed[index] ^= bytes[2] }
      let changed = try SealedItem.open(sealed, Self.name, of: owner, in: Self.store, with: key)
      promise(changed == nil, "a changed item opens")
    } catch { fatalError("\(error)") }
  }

  /// Records that can be read are the lines of the file.
  private func checkAccounts(_ bytes: [UInt8]) {
    write(bytes, "\(folder)/home/accounts/a")
    guard let records = try? accounts.records(of: owner) else { return }
    let text = records.map { "\($0.state) \($0.user)\n" }.joined()
    promise(Array(text.utf8) == bytes, "the records of users are written differently")
    promise(Set(records.map { Array($0.user.utf8) }).count == records.count, "a user has two records")
  }

  /// A key's file that can be read belongs to this place.
  private func checkKey(_ bytes: [UInt8]) {
    write(bytes, "\(folder)/keys/\(Self.store)")
    guard let found = try? StoreKey.read(Self.store, at: place, in: keys) else { return }
    promise(found.place == place, "a key of another place is taken")
    promise(bytes.count >= 4 + SealingKey.byteCount + 16, "a key is read from too few bytes")
  }

  private func write(_ bytes: [UInt8], _ path: String) {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    promise(file >= 0 && Glibc.write(file, bytes, bytes.count) == bytes.count, "\(path) cannot be written")
    close(file)
  }
}
