import MigrationArchive
import MigrationSystem
import MigrationWire
import TestSupport

/// The keys of every archive in these tests.
let testKeys = TransferKeys(hashKey: 0x5051_5253)

/// One export of some sources, with all its output.
struct Export {
  let source: FolderSource
  let summary: SourceSummary
  let outlet: Outlet
  let result: ExportResult

  init(
    _ paths: [[UInt8]], selecting selection: Selection = Selection(), held: HeldItems = HeldItems(),
    traits: DestinationTraits = DestinationTraits(), outlet: Outlet = Outlet(), sizes: ArchiveSizes = .init(),
    blocks: BlockStore? = nil, isWhole: Bool = false,
    betweenWalkAndExport change: () -> Void = {}
  ) throws {
    source = try FolderSource(paths: paths, selecting: selection)
    summary = try source.prepare(until: StopSignal())
    change()
    self.outlet = outlet
    result = try source.export(
      to: outlet, ExportSettings(outlet, held: held, traits: traits, sizes: sizes, blocks: blocks, isWhole: isWhole))
  }

  var offer: Offer {
    Offer(summary)
  }

  /// Every entry in the order of submission.
  var entries: [Entry] { get throws { try outlet.frames.flatMap(entriesOf) } }
}

extension ExportSettings {
  /// The settings of an export that a test reads.
  init(
    _ outlet: Outlet, held: HeldItems = HeldItems(), traits: DestinationTraits = DestinationTraits(),
    sizes: ArchiveSizes = ArchiveSizes(), blocks: BlockStore? = nil, isWhole: Bool = false
  ) {
    self.init(
      listener: outlet, keys: testKeys, held: held, traits: traits, sizes: sizes, blocks: blocks, isWhole: isWhole,
      now: { outlet.now })
  }
}

extension ItemSource {
  /// Exports everything, which the outlet reads.
  @discardableResult
  func export(to outlet: Outlet, _ settings: ExportSettings? = nil) throws -> ExportResult {
    try export(settings ?? ExportSettings(outlet), for: nil) { outlet.read($0) }
  }
}

extension ArchiveExport {
  /// Reads a tree through an outlet.
  static func read(
    _ source: SourceBatch<Source>, through outlet: Outlet, held: HeldItems = HeldItems()
  ) throws -> ExportResult {
    let export = ArchiveExport(ExportSettings(outlet, held: held))
    _ = export.add(source)
    outlet.read(export)
    return export.result
  }
}

/// An app's archive that is assembled and read on one thread.
struct Appending {
  let outlet: Outlet
  let export: ArchiveExport<RealDirectory>
  let appender: ItemAppender

  init(
    _ outlet: Outlet = Outlet(), held: HeldItems = HeldItems(), traits: DestinationTraits = DestinationTraits(),
    sizes: ArchiveSizes = ArchiveSizes()
  ) {
    self.outlet = outlet
    export = ArchiveExport(ExportSettings(outlet, held: held, traits: traits, sizes: sizes))
    appender = ItemAppender(export: export)
  }

  /// Appends an item, and returns when it has been read.
  func append(_ item: consuming Descriptor, at path: [UInt8]) throws(Failure) {
    let append = try appender.begin(item, at: path)
    outlet.read(export) { appender.isRead(append) }
    try appender.end(append)
  }

  /// Ends the archive. Returns its totals.
  @discardableResult
  func finish() -> ExportResult {
    appender.finish()
    outlet.read(export)
    return export.result
  }
}

func entriesOf(_ frame: [UInt8]) throws -> [Entry] {
  var reader = EntryReader(0..<frame.count)
  var entries: [Entry] = []
  while let entry = try reader.next(frame.span) { entries.append(entry) }
  return entries
}

extension Entry {
  var path: ArchivePath {
    switch self {
    case .item(let record, content: _): record.path
    case .chunk(let place, _, data: _), .hole(let place, _), .base(let place, _, _): place.path
    }
  }

  var generation: Generation {
    switch self {
    case .item(let record, content: _): record.generation
    case .chunk(let place, _, data: _), .hole(let place, _), .base(let place, _, _): place.generation
    }
  }

  var record: ItemRecord? {
    if case .item(let record, content: _) = self { record } else { nil }
  }

  var text: String { String(decoding: path.bytes, as: UTF8.self) }
}
