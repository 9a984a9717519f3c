/// Protocol §6.6: everything is imported and durable.
package struct Done: Equatable, Sendable {
  /// A property that the destination could not keep, and the number of cases.
  package struct Loss: Equatable, Sendable {
    /// The receiver may have kinds that this end does not know (Protocol §6).
    package struct Kind: RawRepresentable, Hashable, Sendable {
      package let rawValue: UInt8
      package init(rawValue: UInt8) { self.rawValue = rawValue }

      package static let mode = Kind(rawValue: 1)
      package static let time = Kind(rawValue: 2)
      package static let owner = Kind(rawValue: 3)
      package static let attribute = Kind(rawValue: 4)
      package static let accessList = Kind(rawValue: 5)
      package static let hardLink = Kind(rawValue: 6)
      package static let hole = Kind(rawValue: 7)
      package static let setIDBit = Kind(rawValue: 8)
      /// The name of an owner, or of a user or group in an access list, is unknown: its number was kept.
      package static let ownerName = Kind(rawValue: 9)
    }

    package let kind: Kind
    package let count: UInt64

    package init(kind: Kind, count: UInt64) {
      self.kind = kind
      self.count = count
    }
  }

  /// The items of the source that were moved or removed at the destination since they arrived.
  package struct Removed: Equatable, Sendable {
    package var count: UInt64
    /// The items that the receiver's user has not confirmed as removed on purpose.
    package var unsettled: UInt64

    package init(count: UInt64 = 0, unsettled: UInt64 = 0) {
      self.count = count
      self.unsettled = unsettled
    }
  }

  package let total: Tally
  /// In ascending order of their kinds.
  package let losses: [Loss]
  /// The number of items that the destination could not hold.
  package let notStored: UInt64
  /// The number of items that were stored under other names, since their own were taken.
  package let renamed: UInt64
  /// The renamed items that the message names, in ascending order of their paths.
  package let renamedItems: [RenamedItem]
  package let removed: Removed
  private var unknown = Fields()

  /// `renamed` are all items that were stored under other names, or more than `count` leaves out;
  /// as many of them are named as a message may have.
  package init(
    total: Tally, losses: [Loss] = [], notStored: UInt64 = 0, renamed: [RenamedItem] = [], count: UInt64 = 0,
    removed: Removed = Removed()
  ) {
    self.removed = removed
    self.renamed = max(count, UInt64(renamed.count))
    renamedItems = renamed.nameable
    self.notStored = notStored
    self.total = total
    self.losses = losses
  }

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "the receiver's last word"
    let fields = try Fields(bytes, range, of: subject)
    total = try Tally(fields, items: 1, bytes: 2, subject)
    losses = try fields.list(
      3, of: subject, ascending: { $0.kind.rawValue < $1.kind.rawValue },
      reading: { reader, bytes throws(Violation) in
        Loss(kind: Loss.Kind(rawValue: try reader.u8(bytes)), count: try reader.u64(bytes))
      })
    notStored = try fields.count(4, subject)
    renamed = try fields.count(5, subject)
    renamedItems = try fields.read(6, subject, RenamedItem.readList) ?? []
    guard renamed >= UInt64(renamedItems.count) else { throw Violation(.value, subject) }
    removed = Removed(count: try fields.count(7, subject), unsettled: try fields.count(8, subject))
    guard removed.unsettled <= removed.count else { throw Violation(.value, subject) }
    unknown = fields.unknown(besides: 1...8)
  }

  func write(to writer: inout ByteWriter) {
    var fields = Fields()
    fields.append(total, items: 1, bytes: 2)
    if !losses.isEmpty {
      fields.append(3) { writer in
        for loss in losses {
          writer.u8(loss.kind.rawValue)
          writer.u64(loss.count)
        }
      }
    }
    if notStored > 0 { fields.append(4) { $0.u64(notStored) } }
    if renamed > 0 { fields.append(5) { $0.u64(renamed) } }
    if !renamedItems.isEmpty {
      fields.append(6) { writer in
        for item in renamedItems { item.write(to: &writer) }
      }
    }
    if removed.count > 0 { fields.append(7) { $0.u64(removed.count) } }
    if removed.unsettled > 0 { fields.append(8) { $0.u64(removed.unsettled) } }
    fields.write(with: unknown, to: &writer)
  }
}

/// An item that was stored under another name, since an existing item had its own (Protocol §6.6).
package struct RenamedItem: Equatable, Sendable {
  package let path: ArchivePath
  /// Its path at the destination.
  package let target: ArchivePath

  package init(path: ArchivePath, target: ArchivePath) {
    self.path = path
    self.target = target
  }

  /// The bytes that count towards the limit of a message.
  fileprivate var size: Int { path.bytes.count + target.bytes.count }

  fileprivate static func readList(
    _ reader: inout ByteReader, _ bytes: Span<UInt8>
  ) throws(Violation) -> [RenamedItem] {
    let subject = "the items under other names"
    var size = 0
    return try reader.list(
      of: subject, atMost: Limits.renamed, ascending: { $0.path.bytes.lexicographicallyPrecedes($1.path.bytes) },
      reading: { reader throws(Violation) in
        let path = try ArchivePath(try reader.stringBytes(bytes))
        let item = RenamedItem(path: path, target: try ArchivePath(try reader.stringBytes(bytes)))
        size += item.size
        guard size <= Limits.renamedBytes else { throw Violation(.limit, subject) }
        return item
      })
  }

  fileprivate func write(to writer: inout ByteWriter) {
    for bytes in [path.bytes, target.bytes] { writer.string(bytes) }
  }
}

extension [RenamedItem] {
  /// As many as a message may name, in its order.
  fileprivate var nameable: [RenamedItem] {
    var size = 0
    return sorted { $0.path.bytes.lexicographicallyPrecedes($1.path.bytes) }.prefix(Limits.renamed).filter { item in
      guard size + item.size <= Limits.renamedBytes else { return false }
      size += item.size
      return true
    }
  }
}
