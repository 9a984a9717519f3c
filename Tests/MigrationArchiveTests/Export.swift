import MigrationArchive
import MigrationSystem
import MigrationWire
import TestSupport

/// What every archive of these tests is keyed with.
let testKeys = TransferKeys(tagKey: 0x40, hashKey: 0x5051_5253)

/// One export of some sources, with everything that it said.
struct Export {
  let source: FolderSource
  let summary: SourceSummary
  let outlet: Outlet
  let packer: FramePacker

  init(
    _ paths: [[UInt8]], selecting selection: Selection = Selection(), held: HeldItems = HeldItems(),
    traits: DestinationTraits = DestinationTraits(), outlet: Outlet = Outlet(), sizes: FramePacker.Sizes = .init(),
    betweenWalkAndExport change: () -> Void = {}
  ) throws {
    source = try FolderSource(paths: paths, selecting: selection)
    summary = try source.prepare(until: StopSignal())
    change()
    self.outlet = outlet
    packer = FramePacker(outlet: outlet, sealer: HashSealer(), keys: testKeys, held: held, traits: traits, sizes: sizes)
    try source.export(to: packer, for: nil)
  }

  var offer: Offer {
    Offer(
      transfer: nil, contents: summary.contents, items: summary.total.items, bytes: summary.total.bytes,
      allocated: summary.allocated, flags: summary.flags)
  }

  /// Every entry in the order in which it was submitted.
  var entries: [Entry] { get throws { try outlet.frames.flatMap(entriesOf) } }
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
    case .chunk(let place, _, data: _), .hole(let place, _): place.path
    }
  }

  var generation: Generation {
    switch self {
    case .item(let record, content: _): record.generation
    case .chunk(let place, _, data: _), .hole(let place, _): place.generation
    }
  }

  var record: ItemRecord? {
    if case .item(let record, content: _) = self { record } else { nil }
  }

  var text: String { String(decoding: path.bytes, as: UTF8.self) }
}
