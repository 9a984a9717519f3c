/// The limits of Protocol §5 to §11; every length and count is checked against one of them before memory
/// is allocated.
package enum Limits {
  /// The default port of a receiver.
  package static let defaultPort: UInt16 = 47470
  /// The port of a relay.
  package static let relayPort: UInt16 = 47471
  /// The bytes before a frame's body: type and length.
  package static let frameHeader = 5
  /// The longest body of a frame.
  package static let frameBody = 1_310_720
  /// The most bytes of entries in one DATA frame, before compression.
  package static let plainLength = 1_310_000
  /// The window of compressed data (Protocol §6.8): 8 MiB, which every decoder must have room for.
  package static let compressionWindow: UInt64 = 8 << 20
  /// The most data in one chunk.
  package static let chunk = 1_048_576
  /// The bytes before a DATA frame's payload: sequence, encoding, plain length.
  package static let dataHeader = 13
  /// The most fields in one body.
  package static let fields = 255
  package static let path = 65_535
  package static let component = 255
  package static let depth = 2_048
  package static let linkTarget = 4_095
  package static let parts = 4_096
  /// The roots of all parts of a plan.
  package static let roots = 65_536
  package static let key = 64
  /// The paths of a sender's home in a part, and the bytes of each.
  package static let homePaths = 16
  package static let homePath = 1024
  /// The packages that a part names, and the bytes of each name.
  package static let packages = 1024
  package static let packageName = 64
  /// File sizes, and the end of every chunk and hole.
  package static let fileSize = UInt64(Int64.max)
  package static let incompleteFiles = 256
  package static let marksInFrame = 65_536
  /// The room of a ledger beyond the announced items and a quarter, in marks: 64 MiB.
  package static let ledgerMargin: UInt64 = 4_194_304
  /// The room of a ledger after an offer of so many items, in marks (Protocol §11): for these items,
  /// for earlier items that the source no longer has, for existing items and incomplete files.
  package static func ledgerRoom(items: UInt64) -> UInt64 { items + items / 4 + ledgerMargin }
  /// The most marks of each kind of existing items that this program's receiver collects.
  package static let presentMarks = 4_194_304
  package static let rangesInPartial = 65_536
  package static let streams = 64
  /// The smallest window that a receiver may offer: two frames.
  package static let smallestWindow: UInt64 = 2_621_440
  /// The window of this program's receiver in bytes (Protocol §6.3).
  package static let window: UInt64 = 33_554_432
  /// The most that this program's sender uses of a receiver's window: its memory. An interruption
  /// costs at most this much.
  package static let sendWindow: UInt64 = 25_165_824
  package static let label = 255
  /// The name and the identifier of a part.
  package static let name = 255
  package static let software = 64
  package static let message = 1_024
  package static let identifier = 1_024
  package static let optionValue = 1_048_576
  /// How many options of an app's exporter are named.
  package static let optionNames = 64
  package static let attributes = 131_072
  package static let attributeName = 255
  /// The names of the users and groups of an item. With all other fields, a record still has room for
  /// unknown ones; and an end that does not know this field takes it as an unknown one.
  package static let ownerNames = 20_000
  package static let aclEntries = 1_024
  /// The longest record of an item, and how much of it, or of a plan, fields of later versions may
  /// take.
  package static let record = 262_144
  package static let unknownFields = 32_768
  /// The bytes of records that may come beyond the announced bytes.
  package static let metadataMargin: UInt64 = 16_777_216
  /// The bytes that the receiver counts for a piece of a file in the journal, besides its path.
  package static let pieceOverhead: UInt64 = 96
  /// The number of times that a sender may start one file afresh in one session.
  package static let restarts: UInt64 = 8
  /// The number of items that an end names as not stored, one by one.
  package static let notStored = 10_000
  /// The bytes of their paths, messages and unknown fields in a session: 4 MiB.
  package static let notStoredBytes = 4_194_304
  /// The number of attributes that are never transferred and may be named.
  package static let lostAttributes = 64
  /// The number of items stored under other names that are named, and the bytes of their paths.
  package static let renamed = 1_024
  package static let renamedBytes = 65_536
  /// The bytes of ciphertext before the record with READY.
  package static let beforeReady = 16_384
  /// The longest record of TLS 1.3, with its header.
  package static let tlsRecord = 16_645
}
