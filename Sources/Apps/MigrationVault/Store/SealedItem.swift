import MigrationCredentials
import MigrationSystem
import MigrationTLS
import MigrationWire

/// The file of an item: four bytes that identify it, and the item sealed for its store, its owner
/// and its name. A file in another place is as damaged as a cut file.
enum SealedItem {
  /// The first bytes of a file; the last byte is the format's version.
  private static let magic = Array("PCR".utf8) + [1]

  /// The longest file: an item at its limits, with dates, tags and lengths.
  static let longest = magic.count + SealingKey.overhead + CredentialLimits.data + CredentialLimits.attributes + 1 << 10

  /// Whether a file's name is an item's name.
  static func isName(_ name: String) -> Bool {
    name.utf8.count == 32
      && name.utf8.allSatisfy { byte in
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte
      }
  }

  /// Draws a name.
  static func drawnName() -> String { randomBytes(16).hexadecimal }

  /// The content of an item's file.
  static func seal(
    _ item: CredentialItem, _ name: String, of owner: CredentialOwner, in store: String, with key: borrowing SealingKey
  ) throws(Failure) -> [UInt8] {
    var plain = item.encoded
    defer { cleanse(&plain) }
    do { return try magic + key.seal(plain, for: place(name, owner, store)) } catch { throw Failure(error) }
  }

  /// The item in a file; nil unless it was sealed for this place and has not changed since.
  static func open(
    _ bytes: [UInt8], _ name: String, of owner: CredentialOwner, in store: String, with key: borrowing SealingKey
  ) throws(Failure) -> CredentialItem? {
    guard bytes.starts(with: magic) else { return nil }
    var plain: [UInt8]
    do {
      guard let opened = try key.open(bytes.dropFirst(magic.count), for: place(name, owner, store)) else { return nil }
      plain = opened
    } catch {
      throw Failure(error)
    }
    defer { cleanse(&plain) }
    return try? CredentialItem(plain)
  }

  /// The store's and the item's name have fixed lengths, so that no other place has the same bytes.
  private static func place(_ name: String, _ owner: CredentialOwner, _ store: String) -> [UInt8] {
    magic + Array(store.utf8) + Array(name.utf8) + Array(owner.name.utf8)
  }
}
