import MigrationSystem
package import MigrationWire

/// The space that an offer needs and the space that is available, in bytes and in file system
/// entries.
package struct SpaceShortage: Equatable, Sendable, CustomStringConvertible {
  package let bytes: Close.Space
  /// Nil if the file system sets no limit.
  package let items: Close.Space?
  /// The needed bytes that are a reserve.
  private let reserve: UInt64
  /// Whether more follows than is known.
  let isOpen: Bool

  /// Space for the journal and the directories, per item.
  private static let overheadPerItem: UInt64 = 256

  /// The space missing for the rest of an offer and a reserve; nil if the space suffices, or the
  /// whole offer is already there.
  init?(
    of offer: Offer, held: Tally, availableBytes: UInt64, availableItems: UInt64?, leaving reserve: Reserve = .none
  ) {
    let missingItems = offer.items.subtractingClamped(held.items)
    let missing = offer.allocated.subtractingClamped(held.bytes)
    guard missingItems > 0 || missing > 0 else { return nil }
    let overhead = missingItems.multipliedClamped(by: Self.overheadPerItem)
    // Both are less than 2⁶³ afterwards.
    let needed = (missing + min(overhead, Limits.fileSize)).addingClamped(reserve.bytes)
    bytes = Close.Space(needed: needed, available: availableBytes)
    items = availableItems.map {
      Close.Space(needed: missingItems + 8 + reserve.items, available: $0)
    }
    self.reserve = reserve.bytes
    isOpen = false
    guard isReal else { return nil }
  }

  /// The space missing for this many bytes and items and a reserve; nil if the space suffices.
  /// `uncounted` bytes take space that the file system has not counted yet. `isOpen`: they are only the next
  /// of an export that has outgrown its estimate.
  init?(
    of wanted: Tally, in space: FileSystemSpace, uncounted: UInt64, leaving reserve: Reserve, isOpen: Bool = false
  ) {
    self.isOpen = isOpen
    bytes = Close.Space(
      needed: wanted.bytes.addingClamped(reserve.bytes),
      available: space.availableBytes.subtractingClamped(uncounted))
    items = space.availableItems.map {
      Close.Space(needed: wanted.items.addingClamped(reserve.items), available: $0)
    }
    self.reserve = reserve.bytes
    guard isReal else { return nil }
  }

  /// Whether one of the two is insufficient.
  var isReal: Bool {
    bytes.isShort || items?.isShort == true
  }

  package var description: String {
    if bytes.isShort, isOpen {
      return "not enough space: more comes than the app has estimated, and how much is not known; "
        + "\(Figures.size(bytes.available)) available, of which \(Figures.size(reserve)) stay free"
    }
    if bytes.isShort {
      let kept = reserve > 0 ? " (including a reserve of \(Figures.size(reserve)))" : ""
      return "not enough space: \(bytes.sizes.needed)\(kept) needed, \(bytes.sizes.available) available"
    }
    guard let items else { return "not enough space" }
    return "not enough file system entries: \(Figures.count(items.needed)) needed, "
      + "\(Figures.count(items.available)) available"
  }
}

/// The part of a file system that a transfer leaves free: a twentieth, at most 1 GiB. The reserve
/// also has the number of entries that such a file system has for this many bytes.
struct Reserve: Equatable, Sendable {
  static let none = Reserve(bytes: 0, items: 0)
  private static let mostBytes: UInt64 = 1 << 30
  /// One entry for each 16 KiB, as on file systems with a fixed number of entries.
  private static let mostItems: UInt64 = 1 << 16
  private static let part: UInt64 = 20

  let bytes: UInt64
  let items: UInt64
}

extension Reserve {
  init(of space: FileSystemSpace) {
    self.init(
      bytes: min(Self.mostBytes, space.totalBytes / Self.part),
      items: min(Self.mostItems, (space.totalItems ?? 0) / Self.part))
  }
}
