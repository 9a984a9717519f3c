/// The number of items that the sender left out because the destination has them or others of their
/// names (Protocol §6.5).
package struct LeftOut: Equatable, Sendable {
  /// Files and links that are there already.
  package var present: UInt64
  /// Items whose names something else has there.
  package var differing: UInt64

  package init(present: UInt64 = 0, differing: UInt64 = 0) {
    self.present = present
    self.differing = differing
  }

  /// Reads the two counts, each of which is left out where it is zero.
  init(_ fields: Fields, present: UInt8, differing: UInt8, _ subject: String) throws(Violation) {
    self.init(present: try fields.count(present, subject), differing: try fields.count(differing, subject))
  }
}

extension Fields {
  /// A count that is left out where it is zero.
  func count(_ tag: UInt8, _ subject: String) throws(Violation) -> UInt64 {
    guard let count = try read(tag, subject, { reader, bytes throws(Violation) in try reader.u64(bytes) }) else {
      return 0
    }
    guard count > 0 else { throw Violation(.value, subject) }
    return count
  }

  /// Writes the two counts.
  mutating func append(_ leftOut: LeftOut, present: UInt8, differing: UInt8) {
    if leftOut.present > 0 { append(present) { $0.u64(leftOut.present) } }
    if leftOut.differing > 0 { append(differing) { $0.u64(leftOut.differing) } }
  }
}
