package import MigrationWire

/// How much room an offer needs and how much there is, in bytes and in file system entries.
package struct SpaceShortage: Equatable, Sendable, CustomStringConvertible {
  package let bytes: Close.Space
  /// Nil where the file system sets no limit.
  package let items: Close.Space?

  /// Whether one of the two does not suffice.
  var isReal: Bool {
    bytes.needed > bytes.available || items.map { $0.needed > $0.available } == true
  }

  package var description: String {
    if bytes.needed > bytes.available {
      return "not enough space: \(bytes.needed) bytes are needed, \(bytes.available) bytes are available"
    }
    guard let items else { return "not enough space" }
    return "not enough file system entries: \(items.needed) are needed, \(items.available) are available"
  }
}
