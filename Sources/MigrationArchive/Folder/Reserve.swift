import MigrationSystem

/// What of a file system a transfer leaves free that may become more than was announced: the twentieth part, and at most 1 GiB,
/// with the entries that such a file system has for as much.
struct Reserve: Equatable, Sendable {
  static let none = Reserve(bytes: 0, items: 0)
  private static let mostBytes: UInt64 = 1 << 30
  /// One for each 16 KiB, as file systems with a fixed number of entries are made.
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
