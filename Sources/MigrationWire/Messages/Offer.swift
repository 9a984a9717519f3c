/// One announced root of a folder transfer.
package struct Root: Equatable, Sendable {
  package let kind: ItemKind
  /// A single valid component.
  package let name: [UInt8]

  package init(kind: ItemKind, name: [UInt8]) {
    self.kind = kind
    self.name = name
  }

  /// Whether it begins with a dot: in a home directory, programs run what some such items contain.
  package var isRunning: Bool { name.first == UInt8(ascii: ".") }
}

/// An app's identity, as its sender states it.
package struct AppIdentity: Equatable, Sendable {
  package let bundleIdentifier: String
  package let store: String
  package let platform: String
  package let version: String
  private var unknown = Fields()

  package init(bundleIdentifier: String, store: String, platform: String, version: String) {
    self.bundleIdentifier = bundleIdentifier
    self.store = store
    self.platform = platform
    self.version = version
  }

  fileprivate init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "the offer's app"
    let fields = try Fields(bytes, range, of: subject)
    bundleIdentifier = try fields.text(1, limit: Limits.identifier, subject)
    store = try fields.text(2, limit: Limits.identifier, subject)
    platform = try fields.text(3, limit: Limits.identifier, subject)
    version = try fields.text(4, limit: Limits.identifier, subject)
    unknown = fields.unknown(besides: 1...4)
  }

  fileprivate func write(to writer: inout ByteWriter) {
    var fields = Fields()
    fields.append(1, Array(bundleIdentifier.utf8))
    fields.append(2, Array(store.utf8))
    fields.append(3, Array(platform.utf8))
    fields.append(4, Array(version.utf8))
    fields.write(with: unknown, to: &writer)
  }
}

/// Protocol §6.2: the sender's summary of its data, before it sends any.
package struct Offer: Equatable, Sendable {
  package enum Contents: Equatable, Sendable {
    /// In ascending order of their names.
    case folders([Root])
    case app(AppIdentity)
  }

  package struct Flags: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The totals are an estimate.
    package static let estimated = Flags(rawValue: 1)
    /// The data may be compressed on its way.
    package static let compressible = Flags(rawValue: 2)
  }

  /// The transfer that is to be continued.
  package let transfer: TransferID?
  package let contents: Contents
  package let items: UInt64
  /// The sum of the files' sizes.
  package let bytes: UInt64
  /// The files' space on a disk.
  package let allocated: UInt64
  package let flags: Flags
  /// The sum of the lengths of all records; nil where the sender does not know it.
  package let metadata: UInt64?
  private var unknown = Fields()

  package init(
    transfer: TransferID?, contents: Contents, items: UInt64, bytes: UInt64, allocated: UInt64, flags: Flags,
    metadata: UInt64? = nil
  ) {
    self.transfer = transfer
    self.contents = contents
    self.items = items
    self.bytes = bytes
    self.allocated = allocated
    self.flags = flags
    self.metadata = metadata
  }

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "the offer"
    let fields = try Fields(bytes, range, of: subject)
    transfer = try fields.number(1, subject)
    let kind: UInt8 = try fields.requiredNumber(2, subject)
    let roots = try fields.read(3, subject, Self.readRoots)
    let app = try fields.read(7, subject) { reader, bytes throws(Violation) in
      try AppIdentity(bytes, try reader.take(reader.remaining))
    }
    switch (kind, roots, app) {
    case (1, let roots?, nil): contents = .folders(roots)
    case (2, nil, let app?): contents = .app(app)
    case (1, _, _), (2, _, _): throw Violation(.field, subject)
    default: throw Violation(.unknown, subject)
    }
    items = try Self.total(fields, 4)
    self.bytes = try Self.total(fields, 5)
    allocated = try Self.total(fields, 6)
    flags = Flags(
      rawValue: try fields.requiredNumber(8, subject))
    metadata = try Self.optionalTotal(fields, 9)
    unknown = fields.unknown(besides: 1...9)
  }

  private static func total(_ fields: Fields, _ tag: UInt8) throws(Violation) -> UInt64 {
    guard let total = try optionalTotal(fields, tag) else { throw Violation(.field, "the offer") }
    return total
  }

  private static func optionalTotal(_ fields: Fields, _ tag: UInt8) throws(Violation) -> UInt64? {
    let total: UInt64? = try fields.number(tag, "the offer")
    guard total ?? 0 <= Limits.fileSize else { throw Violation(.limit, "an offer's total") }
    return total
  }

  private static func readRoots(_ reader: inout ByteReader, _ bytes: Span<UInt8>) throws(Violation) -> [Root] {
    let subject = "the offer's roots"
    var roots: [Root] = []
    while !reader.isAtEnd {
      guard let kind = ItemKind(rawValue: try reader.u8(bytes)) else { throw Violation(.unknown, subject) }
      let name = try reader.take(Int(try reader.u8(bytes)))
      try ArchivePath.checkComponent(bytes.extracting(name))
      roots.append(Root(kind: kind, name: [UInt8](copying: bytes.extracting(name))))
      guard roots.count <= Limits.roots else { throw Violation(.limit, subject) }
    }
    for (one, next) in zip(roots, roots.dropFirst()) where !one.name.lexicographicallyPrecedes(next.name) {
      throw Violation(.value, subject)
    }
    guard !roots.isEmpty else { throw Violation(.value, subject) }
    return roots
  }

  func write(to writer: inout ByteWriter) {
    var fields = Fields()
    if let transfer { fields.append(1) { $0.u128(transfer) } }
    switch contents {
    case .folders(let roots):
      fields.append(2, [1])
      fields.append(3) { writer in
        for root in roots {
          writer.u8(root.kind.rawValue)
          writer.u8(UInt8(root.name.count))
          writer.array(root.name)
        }
      }
    case .app: fields.append(2, [2])
    }
    fields.append(4) { $0.u64(items) }
    fields.append(5) { $0.u64(bytes) }
    fields.append(6) { $0.u64(allocated) }
    if case .app(let app) = contents { fields.append(7) { app.write(to: &$0) } }
    fields.append(8) { $0.u32(flags.rawValue) }
    if let metadata { fields.append(9) { $0.u64(metadata) } }
    fields.write(with: unknown, to: &writer)
  }
}

/// Protocol §6.3: the receiver accepts the offer, with the transfer's names, keys and limits.
package struct Accept: Equatable, Sendable {
  package let transfer: TransferID
  package let session: SessionID
  package let keys: TransferKeys
  /// The number of bytes of DATA bodies that may be unacknowledged.
  package let window: UInt64
  /// The number of data streams that may be joined at a time.
  package let streams: UInt16
  /// The features that may be used.
  package let features: Features
  /// The abilities of the destination; nil for an app.
  package let traits: DestinationTraits?
  private var unknown = Fields()

  package init(
    transfer: TransferID, session: SessionID, keys: TransferKeys, window: UInt64, streams: UInt16, features: Features,
    traits: DestinationTraits? = nil
  ) {
    self.transfer = transfer
    self.session = session
    self.keys = keys
    self.window = window
    self.streams = streams
    self.features = features
    self.traits = traits
  }

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "the acceptance"
    let fields = try Fields(bytes, range, of: subject)
    transfer = try fields.requiredNumber(1, subject)
    session = try fields.requiredNumber(2, subject)
    keys = TransferKeys(hashKey: try fields.requiredNumber(3, subject))
    window = try fields.requiredNumber(4, subject)
    streams = try fields.requiredNumber(5, subject)
    features = Features(rawValue: try fields.requiredNumber(6, subject))
    traits = try fields.read(7, subject) { reader, bytes throws(Violation) in
      try DestinationTraits(bytes, try reader.take(reader.remaining))
    }
    unknown = fields.unknown(besides: 1...7)
    guard window >= Limits.smallestWindow, (1...Limits.streams).contains(Int(streams)) else {
      throw Violation(.value, subject)
    }
  }

  func write(to writer: inout ByteWriter) {
    var fields = Fields()
    fields.append(1) { $0.u128(transfer) }
    fields.append(2) { $0.u128(session) }
    fields.append(3) { $0.u128(keys.hashKey) }
    fields.append(4) { $0.u64(window) }
    fields.append(5) { $0.u16(streams) }
    fields.append(6) { $0.u64(features.rawValue) }
    if let traits { fields.append(7) { traits.write(to: &$0) } }
    fields.write(with: unknown, to: &writer)
  }
}

/// The summary of a transfer, before any of its data is sent.
package struct SourceSummary: Sendable {
  package let contents: Offer.Contents
  package let total: Tally
  /// The files' space on disk.
  package let allocated: UInt64
  package let flags: Offer.Flags

  package init(contents: Offer.Contents, total: Tally, allocated: UInt64, flags: Offer.Flags) {
    self.contents = contents
    self.total = total
    self.allocated = allocated
    self.flags = flags
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
