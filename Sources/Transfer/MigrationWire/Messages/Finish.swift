/// Protocol §6.5: the export has ended, and the archive must consist of these items.
package struct Finish: Equatable, Sendable {
  package let total: Tally
  package let unsent: UInt64
  /// The sum of the marks of all items modulo 2¹²⁸.
  package let digest: UInt128
  /// The items that the sender has left out because the destination has them, or has another item
  /// of their name.
  package let leftOut: LeftOut
  /// Attributes that are never transferred, in ascending order of their names.
  package let lostAttributes: [LostAttribute]
  private var unknown = Fields()

  package init(
    total: Tally, unsent: UInt64, digest: UInt128, leftOut: LeftOut = LeftOut(), lostAttributes: [LostAttribute] = []
  ) {
    self.lostAttributes = lostAttributes
    self.leftOut = leftOut
    self.total = total
    self.unsent = unsent
    self.digest = digest
  }

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "the end of the export"
    let fields = try Fields(bytes, range, of: subject)
    total = try Tally(fields, items: 1, bytes: 2, subject)
    unsent = try fields.requiredNumber(3, subject)
    digest = try fields.requiredNumber(4, subject)
    leftOut = try LeftOut(fields, present: 5, differing: 6, removed: 9, subject)
    lostAttributes = try LostAttribute.list(fields, 8)
    unknown = fields.unknown(besides: [1, 2, 3, 4, 5, 6, 8, 9])
  }

  func write(to writer: inout ByteWriter) {
    var fields = Fields()
    fields.append(total, items: 1, bytes: 2)
    fields.append(3) { $0.u64(unsent) }
    fields.append(4) { $0.u128(digest) }
    if leftOut.present > 0 { fields.append(5) { $0.u64(leftOut.present) } }
    if leftOut.differing > 0 { fields.append(6) { $0.u64(leftOut.differing) } }
    if !lostAttributes.isEmpty {
      fields.append(8) { writer in
        for attribute in lostAttributes { attribute.write(to: &writer) }
      }
    }
    if leftOut.removed > 0 { fields.append(9) { $0.u64(leftOut.removed) } }
    fields.write(with: unknown, to: &writer)
  }
}

/// The totals of an export.
package struct ExportResult: Sendable {
  /// The contents of FINISH if no more items are added.
  package let finish: Finish
  /// The items that the receiver holds and that no longer exist in the source.
  package let stale: [Mark]

  package init(finish: Finish, stale: [Mark]) {
    self.finish = finish
    self.stale = stale
  }
}

/// Protocol §6.6: the receiver's progress after FINISH.
package struct ImportProgress: Equatable, Sendable {
  /// The receiver may have phases that this end does not know (Protocol §6).
  package struct Phase: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let verifying = Phase(rawValue: 1)
    package static let importing = Phase(rawValue: 2)
    package static let makingDurable = Phase(rawValue: 3)
  }

  package let phase: Phase
  package let done: UInt64
  package let total: UInt64

  package init(phase: Phase, done: UInt64, total: UInt64) {
    self.phase = phase
    self.done = min(done, total)
    self.total = total
  }

  /// From 0 to 1; nil while nothing is counted.
  package var fraction: Double? { total > 0 ? Double(done) / Double(total) : nil }

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    var reader = ByteReader(range, of: "the import's progress")
    phase = Phase(rawValue: try reader.u8(bytes))
    done = try reader.u64(bytes)
    total = try reader.u64(bytes)
    try reader.finish()
    guard done <= total else { throw Violation(.value, "the import's progress") }
  }

  func write(to writer: inout ByteWriter) {
    writer.u8(phase.rawValue)
    writer.u64(done)
    writer.u64(total)
  }
}

extension Tally {
  init(_ fields: Fields, items: UInt8, bytes: UInt8, _ subject: String) throws(Violation) {
    self.init(items: try fields.requiredNumber(items, subject), bytes: try fields.requiredNumber(bytes, subject))
  }
}

extension Fields {
  mutating func append(_ tally: Tally, items: UInt8, bytes: UInt8) {
    append(items) { $0.u64(tally.items) }
    append(bytes) { $0.u64(tally.bytes) }
  }

  /// A count; a field that is left out counts zero.
  func count(_ tag: UInt8, _ subject: String) throws(Violation) -> UInt64 {
    guard let count: UInt64 = try number(tag, subject) else { return 0 }
    guard count > 0 else { throw Violation(.value, subject) }
    return count
  }
}

/// An attribute that is never transferred, and the number of source items that have it (Protocol
/// §6.5).
package struct LostAttribute: Equatable, Sendable {
  package let name: [UInt8]
  package let count: UInt64

  package init(name: [UInt8], count: UInt64) {
    self.name = name
    self.count = count
  }

  /// Reads a list of attributes.
  static func list(_ fields: Fields, _ tag: UInt8) throws(Violation) -> [LostAttribute] {
    let subject = "the attributes that are left behind"
    return try fields.list(
      tag, of: subject, atMost: Limits.lostAttributes, ascending: { $0.name.lexicographicallyPrecedes($1.name) },
      reading: { reader, bytes throws(Violation) in
        let name = try reader.stringBytes(bytes)
        guard (1...Limits.attributeName).contains(name.count) else { throw Violation(.value, subject) }
        return LostAttribute(name: name, count: try reader.u64(bytes))
      })
  }

  func write(to writer: inout ByteWriter) {
    writer.string(name)
    writer.u64(count)
  }
}

/// The number of items that the sender left out because the destination has them, or other items of
/// their names (Protocol §6.5).
package struct LeftOut: Equatable, Sendable {
  /// Files and links that are there already.
  package var present: UInt64
  /// Items whose names other items have there.
  package var differing: UInt64
  /// Files and links that were there, and were moved or removed.
  package var removed: UInt64

  package init(present: UInt64 = 0, differing: UInt64 = 0, removed: UInt64 = 0) {
    self.present = present
    self.differing = differing
    self.removed = removed
  }

  /// Reads the counts; a count of zero is left out.
  init(_ fields: Fields, present: UInt8, differing: UInt8, removed: UInt8, _ subject: String) throws(Violation) {
    self.init(
      present: try fields.count(present, subject), differing: try fields.count(differing, subject),
      removed: try fields.count(removed, subject))
  }
}
