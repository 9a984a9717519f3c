import MigrationSystem

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

  init(bytes: UInt64, items: UInt64) {
    self.bytes = bytes
    self.items = items
  }

  init(of space: FileSystemSpace) {
    self.init(
      bytes: min(Self.mostBytes, space.totalBytes / Self.part),
      items: min(Self.mostItems, (space.totalItems ?? 0) / Self.part))
  }
}
