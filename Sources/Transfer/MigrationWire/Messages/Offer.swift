/// Protocol §6.3, OFFER: the totals with which one part begins.
package struct PartTotals: Equatable, Sendable {
  package struct Flags: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The totals are an estimate.
    package static let estimated = Flags(rawValue: 1)
  }

  /// The number of the part.
  package let part: UInt16
  package let items: UInt64
  /// The sum of the files' sizes.
  package let bytes: UInt64
  /// The files' space on a disk.
  package let allocated: UInt64
  package let flags: Flags
  private var unknown = Fields()

  package init(part: UInt16 = 0, items: UInt64, bytes: UInt64, allocated: UInt64, flags: Flags = []) {
    self.part = part
    self.items = items
    self.bytes = bytes
    self.allocated = allocated
    self.flags = flags
  }

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "the offer"
    let fields = try Fields(bytes, range, of: subject)
    part = try fields.requiredNumber(1, subject)
    guard let items = try fields.total(2, subject), let total = try fields.total(3, subject),
      let allocated = try fields.total(4, subject)
    else { throw Violation(.field, subject) }
    self.items = items
    self.bytes = total
    self.allocated = allocated
    flags = Flags(rawValue: try fields.requiredNumber(5, subject))
    unknown = fields.unknown(besides: 1...5)
  }

  func write(to writer: inout ByteWriter) {
    var fields = Fields()
    fields.append(1) { $0.u16(part) }
    fields.append(2) { $0.u64(items) }
    fields.append(3) { $0.u64(bytes) }
    fields.append(4) { $0.u64(allocated) }
    fields.append(5) { $0.u32(flags.rawValue) }
    fields.write(with: unknown, to: &writer)
  }
}

/// One part as its receiver judges it: the contents that the plan names, of a known kind, and their
/// totals or estimates.
package struct Offer: Equatable, Sendable {
  package typealias Contents = Part.Contents
  package typealias Flags = PartTotals.Flags

  package let contents: Contents
  package let items: UInt64
  package let bytes: UInt64
  package let allocated: UInt64
  package let flags: Flags

  package init(contents: Contents, items: UInt64, bytes: UInt64, allocated: UInt64, flags: Flags = []) {
    self.contents = contents
    self.items = items
    self.bytes = bytes
    self.allocated = allocated
    self.flags = flags
  }

  package init(_ summary: SourceSummary) {
    self.init(
      contents: summary.contents, items: summary.total.items, bytes: summary.total.bytes,
      allocated: summary.allocated, flags: summary.isEstimate ? .estimated : [])
  }

  package init(_ contents: Contents, _ totals: PartTotals) {
    self.init(
      contents: contents, items: totals.items, bytes: totals.bytes, allocated: totals.allocated, flags: totals.flags)
  }
}

extension Offer {
  /// A part by the estimates of its plan; nil for contents of an unknown kind.
  package init?(estimated part: Part) {
    guard let contents = part.offered else { return nil }
    let isEstimate = if case .app = contents { true } else { false }
    self.init(
      contents: contents, items: part.items ?? 0, bytes: part.bytes ?? 0, allocated: part.allocated ?? 0,
      flags: isEstimate ? .estimated : [])
  }
}

extension Part {
  /// A part of a source, with its totals as estimates.
  package init(_ summary: SourceSummary) {
    let name =
      switch summary.contents {
      case .folders(let roots), .role(_, let roots), .unknown(_, _, let roots, _): Self.name(of: roots.map(\.name))
      case .app(let app): app.bundleIdentifier
      case .files(let app, _): app
      }
    self.init(
      summary.contents, summary.label ?? Label(name: name), sources: summary.sources, bytes: summary.total.bytes,
      items: summary.total.items,
      allocated: summary.allocated, changed: summary.contents.isReplacedWhole ? summary.changed : nil)
  }

  /// The first names of a part's items, and how many more there are: at most 255 bytes.
  package static func name(of items: [[UInt8]]) -> String {
    var name = items.prefix(shownNames).map { String(decoding: $0, as: UTF8.self) }.joined(separator: ", ")
    let more = items.count > shownNames ? " and \(items.count - shownNames) more" : ""
    while name.utf8.count + more.utf8.count > Limits.name { name.unicodeScalars.removeLast() }
    return name + more
  }

  private static let shownNames = 3

  /// The contents as an offer has them; nil for an unknown kind.
  package var offered: Contents? { if case .unknown = contents { nil } else { contents } }
}

/// Protocol §6.3: the receiver accepts the part that is offered.
package struct Accept: Equatable, Sendable {
  package let keys: TransferKeys
  /// The traits of the destination; nil for an app.
  package let traits: DestinationTraits?
  package let flags: Flags
  private var unknown = Fields()

  package struct Flags: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The sender names in DROP the marks of kind 2 that none of its items has, too.
    package static let namesAbsent = Flags(rawValue: 1)
  }

  package init(keys: TransferKeys, traits: DestinationTraits? = nil, flags: Flags = []) {
    self.keys = keys
    self.traits = traits
    self.flags = flags
  }

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "the acceptance"
    let fields = try Fields(bytes, range, of: subject)
    keys = TransferKeys(hashKey: try fields.requiredNumber(1, subject))
    traits = try fields.read(2, subject) { reader, bytes throws(Violation) in
      try DestinationTraits(bytes, try reader.take(reader.remaining))
    }
    let flags: UInt32? = try fields.number(3, subject)
    guard flags != 0 else { throw Violation(.value, subject) }
    self.flags = Flags(rawValue: flags ?? 0)
    unknown = fields.unknown(besides: 1...3)
  }

  func write(to writer: inout ByteWriter) {
    var fields = Fields()
    fields.append(1) { $0.u128(keys.hashKey) }
    if let traits { fields.append(2) { traits.write(to: &$0) } }
    if !flags.isEmpty { fields.append(3) { $0.u32(flags.rawValue) } }
    fields.write(with: unknown, to: &writer)
  }
}

/// Protocol §6.3, FAILED: a part ends, and the session continues.
package struct Failed: Equatable, Sendable {
  package let part: UInt16
  package let close: Close

  package init(part: UInt16, _ close: Close) {
    self.part = part
    self.close = close
  }

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "the failure of a part"
    let fields = try Fields(bytes, range, of: subject)
    part = try fields.requiredNumber(Self.tag, subject)
    close = try Close(fields, subject, besides: [Self.tag])
  }

  /// The answer of the other end.
  package var answer: Failed { Failed(part: part, Close(close.code)) }

  private static let tag: UInt8 = 9

  func write(to writer: inout ByteWriter) {
    var own = Fields()
    own.append(Self.tag) { $0.u16(part) }
    close.fields(with: own).write(with: close.unknown, to: &writer)
  }
}

/// The summary of one part of a source, before any of its data is sent.
package struct SourceSummary: Sendable {
  package let contents: Offer.Contents
  package let total: Tally
  /// The files' space on disk.
  package let allocated: UInt64
  /// Whether the total is an estimate.
  package let isEstimate: Bool
  /// Whether the source allows compression.
  package let isCompressible: Bool
  /// Nil if nothing is told but the contents, which then have a name.
  package var label: Part.Label?
  /// Where each root comes from; nil where nothing tells that.
  package var sources: [SourceIdentity]?
  /// Where the roots are on this device, for its user, if their names are keys.
  package var places: [[UInt8]: [UInt8]] = [:]
  /// When anything of it last changed, as far as that is known.
  package let changed: ItemTime?

  package init(
    contents: Offer.Contents, total: Tally, allocated: UInt64, changed: ItemTime? = nil, isEstimate: Bool = false,
    isCompressible: Bool = true
  ) {
    self.contents = contents
    self.total = total
    self.allocated = allocated
    self.isEstimate = isEstimate
    self.isCompressible = isCompressible
    self.changed = changed
  }
}

extension Offer {
  /// The smallest difference from an estimate that is reported.
  private static let smallestDifference: UInt64 = 1_048_576

  /// Whether the size that an app's exporter has estimated differs from the actual size by more
  /// than half of the estimate, and by at least 1 MiB.
  package static func isEstimate(_ estimate: UInt64, offFrom actual: UInt64) -> Bool {
    let difference = max(actual, estimate) - min(actual, estimate)
    return difference > estimate / 2 && difference >= smallestDifference
  }
}
