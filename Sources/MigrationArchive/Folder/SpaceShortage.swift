import MigrationSystem
package import MigrationWire

/// How much room an offer needs and how much there is, in bytes and in file system entries.
package struct SpaceShortage: Equatable, Sendable, CustomStringConvertible {
  package let bytes: Close.Space
  /// Nil where the file system sets no limit.
  package let items: Close.Space?
  /// How many of the bytes are wanted as a reserve.
  private let reserve: UInt64

  /// Room for the journal and the directories, for each item.
  private static let overheadPerItem: UInt64 = 256

  /// What is missing for the rest of an offer, and for a reserve beside it; nil when there is room, or nothing is missing of the
  /// offer.
  init?(
    of offer: Offer, held: Tally, availableBytes: UInt64, availableItems: UInt64?, leaving reserve: Reserve = .none
  ) {
    let missingItems = offer.items.subtractingClamped(held.items)
    let missing = offer.allocated.subtractingClamped(held.bytes)
    guard missingItems > 0 || missing > 0 else { return nil }
    var overhead = missingItems.multipliedClamped(by: Self.overheadPerItem)
    // Records are in the journal and in what is made of them. How many of them are here already is not known.
    if held.items == 0, let metadata = offer.metadata { overhead = max(overhead, metadata.multipliedClamped(by: 2)) }
    // Both are below 2⁶³ then.
    let needed = (missing + min(overhead, Limits.fileSize)).addingClamped(reserve.bytes)
    bytes = Close.Space(needed: needed, available: availableBytes)
    items = availableItems.map {
      Close.Space(needed: missingItems + 8 + reserve.items, available: $0)
    }
    self.reserve = reserve.bytes
    guard isReal else { return nil }
  }

  /// What is missing for so much, and for a reserve beside it; nil when there is room. So many bytes take room that the file
  /// system has not counted.
  init?(of wanted: Tally, in space: FileSystemSpace, uncounted: UInt64, leaving reserve: Reserve) {
    bytes = Close.Space(
      needed: wanted.bytes.addingClamped(reserve.bytes),
      available: space.availableBytes.subtractingClamped(uncounted))
    items = space.availableItems.map {
      Close.Space(needed: wanted.items.addingClamped(reserve.items), available: $0)
    }
    self.reserve = reserve.bytes
    guard isReal else { return nil }
  }

  /// Whether one of the two does not suffice.
  var isReal: Bool {
    bytes.isShort || items?.isShort == true
  }

  package var description: String {
    if bytes.isShort {
      let kept = reserve > 0 ? " (\(ReadableNumber.size(reserve)) of them stay free)" : ""
      return "not enough space: \(bytes.sizes.needed)\(kept) are needed, \(bytes.sizes.available) are available"
    }
    guard let items else { return "not enough space" }
    return "not enough file system entries: \(ReadableNumber.count(items.needed)) are needed, "
      + "\(ReadableNumber.count(items.available)) are available"
  }
}
