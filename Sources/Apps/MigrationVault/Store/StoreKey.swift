import MigrationCredentials
import MigrationSystem
import MigrationTLS
import MigrationWire

/// The key of a store, in a file outside PEER_HOME with the store's name. It records the place that
/// it was made for: it opens no copy of the store, even on this machine.
final class StoreKey: Sendable {
  /// The place of a store. A moved store has another path, and a store that was restored from a
  /// backup has another inode.
  struct Location: Equatable, Sendable {
    /// PEER_HOME's absolute path, without links.
    let path: [UInt8]
    let device: UInt64
    let inode: UInt64

    /// Whether the store of this place is the store at another place.
    func isSame(as other: Location) -> Bool {
      path == other.path || inode == other.inode && device == other.device
    }
  }

  /// The store's name.
  let store: String
  let key: SealingKey
  let place: Location

  init(_ store: String, _ key: consuming SealingKey, _ place: Location) {
    self.store = store
    self.key = key
    self.place = place
  }

  private static let magic = Array("PCK".utf8) + [1]
  /// The longest file, with a path of PATH_MAX.
  private static let longest = 8 << 10

  /// The file's content.
  private var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.reserve(Self.magic.count + SealingKey.byteCount + 16 + place.path.count)
    writer.array(Self.magic)
    key.withBytes { writer.array($0) }
    writer.u64(place.device)
    writer.u64(place.inode)
    writer.array(place.path)
    return writer.bytes
  }

  private convenience init(_ store: String, decoding bytes: [UInt8]) throws(Violation) {
    var reader = ByteReader(0..<bytes.count, of: "a key")
    guard try reader.array(bytes.span, Self.magic.count) == Self.magic else { throw Violation(.value, "a key") }
    var key = try reader.array(bytes.span, SealingKey.byteCount)
    defer { cleanse(&key) }
    let (device, inode) = (try reader.u64(bytes.span), try reader.u64(bytes.span))
    let place = Location(path: try reader.rest(bytes.span), device: device, inode: inode)
    self.init(store, SealingKey(copying: key.span), place)
  }

  /// Draws the key of a new store, and writes it; durable when it returns.
  static func make(for place: Location, in keys: KeysDirectory) throws(Failure) -> StoreKey {
    let key = StoreKey(SealedItem.drawnName(), .drawn(), place)
    var bytes = key.encoded
    defer { cleanse(&bytes) }
    try keys.write(key.store, bytes)
    return key
  }

  /// Reads the key of the store at a place. Updates the record of the place if possible.
  static func read(_ store: String, at place: Location, in keys: KeysDirectory) throws(Failure) -> StoreKey {
    guard var bytes = try keys.read(store, limit: longest) else {
      throw Failure(
        .unavailable,
        "the key of the credentials is missing: there is no file \(VisibleText.quoted(store)) in \(keys.shown)",
        hint: "A copy of PEER_HOME has no key; if the key is lost, the credentials can only be removed.")
    }
    defer { cleanse(&bytes) }
    guard let found = try? StoreKey(store, decoding: bytes) else {
      throw Failure(
        .unavailable, "the key of the credentials, \(VisibleText.quoted(store)) in \(keys.shown), is damaged",
        hint: "Without the key, the credentials can only be removed.")
    }
    guard found.place.isSame(as: place) else {
      throw Failure(
        .unavailable, "the key of the credentials is for \(VisibleText.quoted(found.place.path)), and this is a copy",
        hint: "Use PEER_HOME in its original place.")
    }
    guard found.place != place else { return found }
    let moved = found.key.withBytes { StoreKey(store, SealingKey(copying: $0), place) }
    var rewritten = moved.encoded
    defer { cleanse(&rewritten) }
    // A read-only directory is no reason to refuse the key.
    try? keys.write(store, rewritten)
    return moved
  }
}
