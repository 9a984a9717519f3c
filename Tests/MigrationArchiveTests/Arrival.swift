import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// A receiver's half of one transfer in a scratch directory's `destination`.
struct Arrival {
  let scratch: Scratch
  let importer: FolderImporter
  let staging: Staging

  init(
    _ scratch: Scratch, _ offer: Offer, transfer: TransferID = 0xABC, preserving: Preserved = Preserved(),
    existing: Existing? = nil, places: RootDestinations? = nil, completing: (@Sendable () -> Void)? = nil
  ) throws {
    self.scratch = scratch
    importer = FolderImporter(
      try StagingArea(at: scratch.at("destination"), preserving: preserving), existing: existing, places: places,
      completing: completing)
    let terms = importer.terms(of: transfer, keys: testKeys)
    _ = try importer.judge(offer, held: Tally(), on: terms)
    staging = try importer.area.stage(offer, on: terms)
  }

  func writer() -> StagingWriter { StagingWriter(staging) }

  func write(_ frames: [[UInt8]]) throws {
    let writer = writer()
    for frame in frames { try writer.write(frame) }
  }

  @discardableResult
  func finish(_ finish: Finish, keeping kept: UnreadableSource = UnreadableSource()) throws -> [Done.Loss] {
    try staging.complete(finish, keeping: kept) { _ in }
    let losses = try importer.importItems(of: staging) { _ in }
    try clear()
    return losses
  }

  func clear() throws { try importer.area.clear(staging.transfer, testKeys) }

  /// The path of the archive in the scratch directory.
  var tree: String { "destination/\(String(decoding: staging.disk.name, as: UTF8.self))/tree" }
  var journal: String { "destination/\(String(decoding: staging.disk.name, as: UTF8.self))/journal" }
}

extension StagingArea {
  /// Removes the staged data of a transfer.
  func clear(_ transfer: TransferID, _ keys: TransferKeys) throws {
    _ = try Self.discard(transfer, keys, from: try place())
  }
}

extension Staging {
  /// The whole ledger as the sender receives it: marks ascending, then the incomplete files.
  var report: (marks: [Mark], partials: [Partial], held: Tally) {
    var reader = LedgerReader(self, present: PresentItems(), room: .max, partLength: .max)
    let part = reader.next()
    return (part.pages.flatMap(\.marks), part.partials, part.end ?? Tally())
  }
}

extension HeldItems {
  /// The items that a receiver reports as held.
  init(of staging: Staging) {
    self.init()
    let report = staging.report
    if !report.marks.isEmpty { add(Held(kind: .staged, marks: report.marks)) }
    for partial in report.partials { add(partial) }
  }
}

extension StagingWriter {
  func write(_ frame: [UInt8]) throws { try write(frame.span, entries: 0..<frame.count) }
}

/// Builds entries as an honest or a dishonest sender might.
struct Crafted {
  private var writer = ByteWriter()

  var frame: [UInt8] { writer.bytes }

  static func frame(_ build: (inout Crafted) throws -> Void) rethrows -> [UInt8] {
    var crafted = Crafted()
    try build(&crafted)
    return crafted.frame
  }

  mutating func item(_ record: ItemRecord) { EntryWriter.item(record, to: &writer) }

  mutating func file(_ record: ItemRecord, _ data: [UInt8]) {
    item(record)
    let place = FilePiece(path: record.path, generation: record.generation, range: 0..<UInt64(data.count))
    EntryWriter.content(length: data.count, testKeys.check(place, data.span), to: &writer)
    writer.array(data)
  }

  /// A chunk that is checked for `checkedFor`, regardless of the place in its header.
  mutating func chunk(
    _ path: String, _ generation: Generation, at offset: UInt64, _ data: [UInt8], checkedFor: FilePiece? = nil
  ) throws {
    let place = try place(path, generation, offset, UInt64(data.count))
    EntryWriter.place(place, testKeys.check(checkedFor ?? place, data.span), to: &writer)
    writer.array(data)
  }

  mutating func hole(_ path: String, _ generation: Generation, at offset: UInt64, _ length: UInt64) throws {
    let place = try place(path, generation, offset, length, isHole: true)
    EntryWriter.place(place, testKeys.check(place), to: &writer)
  }
}

func place(
  _ path: String, _ generation: Generation, _ offset: UInt64, _ length: UInt64, isHole: Bool = false
) throws -> FilePiece {
  FilePiece(
    path: try ArchivePath(Array(path.utf8)), generation: generation, range: offset..<offset + length, isHole: isHole)
}

func record(
  _ path: String, _ body: ItemRecord.Body, generation: Generation = 1, mode: UInt16? = nil, modified: ItemTime? = nil
) throws -> ItemRecord {
  ItemRecord(
    path: try ArchivePath(Array(path.utf8)), generation: generation, body: body, mode: mode, modified: modified)
}

func hardLink(_ path: String, to target: String, generation: Generation = 1) throws -> ItemRecord {
  try record(path, .hardLink(target: try ArchivePath(Array(target.utf8))), generation: generation)
}

func link(_ path: String, to target: String, generation: Generation = 1) throws -> ItemRecord {
  try record(path, .symbolicLink(target: Array(target.utf8)), generation: generation)
}

func offer(
  _ roots: [String] = ["root"], items: UInt64 = 100, bytes: UInt64 = 1 << 28, allocated: UInt64 = 0
) -> Offer {
  Offer(
    contents: .folders(roots.map { Root(kind: .directory, name: Array($0.utf8)) }), items: items,
    bytes: bytes, allocated: allocated, flags: [])
}

/// The FINISH of an archive of these records.
func finish(_ records: [ItemRecord]) -> Finish {
  var digest: UInt128 = 0
  for record in records { digest &+= testKeys.mark(path: record.path, generation: record.generation) }
  return Finish(
    total: Tally(items: UInt64(records.count), bytes: records.reduce(0) { $0 + $1.size }), unsent: 0, digest: digest)
}

/// The kind of error that `body` throws, in a word; nil if it throws none.
func failure(_ body: () throws -> Void) -> String? {
  switch thrown(by: body) {
  case nil: nil
  case let error as Violation: violation(error.code)
  case let error as Failure: "\(error.code)"
  case let error?: "untyped \(type(of: error))"
  }
}

func violation(_ code: Violation.Code) -> String { "violation \(code.rawValue)" }

extension FolderImporter {
  /// Imports into a directory in the scratch directory.
  convenience init(
    _ scratch: Scratch, at name: String = "destination", preserving: Preserved = Preserved(),
    existing: Existing? = nil, places: RootDestinations? = nil
  ) throws(Failure) {
    self.init(try StagingArea(at: scratch.at(name), preserving: preserving), existing: existing, places: places)
  }

  /// Judges the offer of a new transfer.
  func judge(_ offer: Offer) throws(Failure) {
    _ = try judge(offer, held: Tally(), on: terms(of: 0xABC, keys: testKeys))
  }

  /// Stages a new transfer.
  func stage(_ offer: Offer, transfer: TransferID) throws(Failure) -> Staging {
    try area.stage(offer, on: terms(of: transfer, keys: testKeys))
  }
}

extension PresentItems {
  /// A root that arrives under its own name.
  static func root(_ name: String) throws -> RootPath {
    let path = try ArchivePath(Array(name.utf8))
    return (path, path)
  }
}

/// The staging directory of a transfer, as another process finds it.
func reopened(
  _ name: [UInt8], in directory: SharedDirectory, of transfer: TransferID = 0xABC
) throws -> DirectoryDisk {
  try #require(try DirectoryDisk.find(name, in: directory, of: transfer, key: testKeys.journalKey))
}
