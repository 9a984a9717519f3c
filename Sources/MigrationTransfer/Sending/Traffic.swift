import MigrationWire

/// How many bytes of content a sender has put on the wire, and how many compression has kept off it.
package struct Traffic: Equatable, Sendable {
  package var sent: UInt64 = 0
  package var saved: UInt64 = 0

  /// Both together. A sparse file can be as large as any may be, and goes out again in every session: no sum is larger than that.
  package func adding(_ other: Traffic) -> Traffic {
    Traffic(sent: Self.sum(sent, other.sent), saved: Self.sum(saved, other.saved))
  }

  private static func sum(_ one: UInt64, _ other: UInt64) -> UInt64 {
    min(Limits.fileSize, min(one, Limits.fileSize) + min(other, Limits.fileSize))
  }
}
