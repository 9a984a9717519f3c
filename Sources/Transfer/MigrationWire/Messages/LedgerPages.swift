/// Protocol §6.4: a page of marks of items that need not be sent.
package struct Held: Equatable, Sendable {
  package enum Kind: UInt8, Sendable {
    /// Held complete in staging.
    case staged = 1
    /// At the destination already: a file with equal size and time, a symbolic link with an equal
    /// target.
    case present = 2
    /// The names of all items at the destination, directories included.
    case taken = 3
    /// Brought by the same source before, and moved or removed at the destination since.
    case removed = 4
    /// Brought by the same source before: a file of equal size and time, which is there or was
    /// changed there. A mark of kind `state` or `content` tells whether the file need not be sent.
    case arrived = 5
    /// The same file with the time of its last change at the source.
    case state = 6
    /// The same file with its content.
    case content = 7
    /// A file that the same source has brought and that lies untouched, by its content: a base.
    case base = 8
  }

  package let kind: Kind
  /// Strictly ascending.
  package let marks: [Mark]

  package init(kind: Kind, marks: [Mark]) {
    self.kind = kind
    self.marks = marks
  }

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    var reader = ByteReader(range, of: "a page of the ledger")
    guard let kind = Kind(rawValue: try reader.u8(bytes)) else { throw Violation(.unknown, "a page of the ledger") }
    self.kind = kind
    marks = try reader.marks(bytes, "a page of the ledger")
  }

  func write(to writer: inout ByteWriter) {
    writer.u8(kind.rawValue)
    for mark in marks { writer.u128(mark) }
  }
}

extension [Mark] {
  /// The place of a mark; nil if it is not there. The marks ascend.
  package func place(of mark: Mark) -> Int? {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle] < mark { low = middle + 1 } else { high = middle }
    }
    return low < count && self[low] == mark ? low : nil
  }
}

extension ByteReader {
  /// Reads marks up to the end: at least one, ascending.
  mutating func marks(_ bytes: Span<UInt8>, _ subject: String) throws(Violation) -> [Mark] {
    let count = remaining / 16
    guard count <= Limits.marksInFrame else { throw Violation(.limit, subject) }
    guard count > 0 else { throw Violation(.truncated, subject) }
    var marks: [Mark] = []
    marks.reserveCapacity(count)
    while !isAtEnd {
      let mark = try u128(bytes)
      if let last = marks.last, last >= mark { throw Violation(.value, subject) }
      marks.append(mark)
    }
    return marks
  }
}

/// Protocol §6.4: an incomplete file that the receiver holds parts of.
package struct Partial: Equatable, Sendable {
  package let path: ArchivePath
  package let generation: Generation
  package let ranges: ByteRanges
  private var unknown = Fields()

  package init(path: ArchivePath, generation: Generation, ranges: ByteRanges) {
    self.path = path
    self.generation = generation
    self.ranges = ranges
  }

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "an incomplete file"
    let fields = try Fields(bytes, range, of: subject)
    path = try ArchivePath(try fields.required(1, subject))
    generation = try fields.requiredNumber(2, subject)
    ranges = try fields.readRequired(3, subject) { reader, bytes throws(Violation) in
      var ranges = ByteRanges()
      repeat {
        let (start, end) = (try reader.u64(bytes), try reader.u64(bytes))
        guard start < end, end <= Limits.fileSize, ranges.all.last.map({ $0.upperBound < start }) ?? true else {
          throw Violation(.value, subject)
        }
        ranges.insert(start..<end)
        guard ranges.all.count <= Limits.rangesInPartial else { throw Violation(.limit, subject) }
      } while !reader.isAtEnd
      return ranges
    }
    unknown = fields.unknown(besides: 1...3)
  }

  /// The room that it takes in a ledger, in marks of 16 bytes (Protocol §11): that of its values.
  package var ledgerRoom: UInt64 { UInt64(2 + ranges.all.count + (path.bytes.count + unknown.size) / 16) }

  func write(to writer: inout ByteWriter) {
    var fields = Fields()
    fields.append(1, path.bytes)
    fields.append(2) { $0.u128(generation) }
    fields.append(3) { writer in
      for range in ranges.all {
        writer.u64(range.lowerBound)
        writer.u64(range.upperBound)
      }
    }
    fields.write(with: unknown, to: &writer)
  }
}

/// A part of a ledger, in the order of Protocol §6.4.
package struct LedgerPage: Equatable, Sendable {
  package var pages: [Held]
  package var partials: [Partial]
  /// The totals of the whole ledger, in its last part.
  package var end: Tally?

  package init(pages: [Held] = [], partials: [Partial] = [], end: Tally? = nil) {
    self.pages = pages
    self.partials = partials
    self.end = end
  }
}

/// A number of items, and of the bytes of files.
package struct Tally: Equatable, Sendable {
  package var items: UInt64
  package var bytes: UInt64

  package init(items: UInt64 = 0, bytes: UInt64 = 0) {
    self.items = items
    self.bytes = bytes
  }

  /// The sum of both. No archive has more bytes than the largest file may have, so a larger number
  /// from the other device counts as that.
  package func adding(_ other: Tally) -> Tally {
    let (items, overflow) = items.addingReportingOverflow(other.items)
    let bytes = min(bytes, Limits.fileSize) + min(other.bytes, Limits.fileSize)
    return Tally(items: overflow ? .max : items, bytes: min(bytes, Limits.fileSize))
  }
}

/// The data of a part that the receiver has, and how much of it are holes, for which nothing moves.
package struct Arrived: Equatable, Sendable {
  package var tally: Tally
  /// The bytes of the holes that were counted.
  package var holes: UInt64
  /// The bytes among which no holes were counted, since they came earlier.
  package var uncounted: UInt64

  package init(_ tally: Tally = Tally(), holes: UInt64 = 0, uncounted: UInt64 = 0) {
    self.tally = tally
    self.holes = holes
    self.uncounted = uncounted
  }
}

/// Protocol §6.4: the end of the ledger.
package struct HeldEnd: Equatable, Sendable {
  package let held: Tally
  private var unknown = Fields()

  package init(held: Tally) {
    self.held = held
  }

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let fields = try Fields(bytes, range, of: "the end of the ledger")
    held = try Tally(fields, items: 1, bytes: 2, "the end of the ledger")
    unknown = fields.unknown(besides: 1...2)
  }

  func write(to writer: inout ByteWriter) {
    var fields = Fields()
    fields.append(held, items: 1, bytes: 2)
    fields.write(with: unknown, to: &writer)
  }
}
