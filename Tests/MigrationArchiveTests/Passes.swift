import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// Transfers one behind the other, of a folder `root` to the same destination, with the real store on a
/// real disk. The record of what arrived lies beside them.
struct Passes {
  struct Pass {
    /// Besides directories, and besides those of which only the metadata came.
    let sent: [String]
    /// The directories that came; empty for the root.
    let folders: [String]
    let following: [String]
    let refused: [String]
    let away: [String]
    let stayed: [String]
    let leftOut: LeftOut
    let removed: Done.Removed
    /// The bytes of content that came, and of content that was taken from earlier versions.
    var content = 0
    var ofBases = 0
  }

  static let record = "arrived"
  static let lists = "blocks"
  private let scratch: Scratch

  init(_ scratch: Scratch) { self.scratch = scratch }

  func arrived(
    from source: SourceIdentity, _ removals: ArrivedItems.Removals = .unsettled, dying death: Death = .none
  ) throws -> ArrivedItems {
    let directory = try Directory.open(Array(scratch.path("").utf8))
    let root = Array("root".utf8)
    let file = DiskFile(try directory.openOrCreateFile(Array(Self.record.utf8)))
    let mortal: any StagedFile = if case .recording(let bytes) = death { MortalRecords(file, bytes) } else { file }
    return try ArrivedItems(mortal, of: [root: source], removals: [root: removals])
  }

  /// How an import ends at first.
  enum Death: CaseIterable, Equatable {
    case none
    /// Killed when everything is in place, before that is recorded; another run completes it.
    case killed
    /// Killed when so much of the records of what arrived is written.
    case recording(bytes: Int)

    static let allCases: [Death] = [.none, .killed, .recording(bytes: 0), .recording(bytes: 250)]
  }

  /// One transfer; `isCutOff` lets it end before everything has come, and the sender could not read what
  /// is `unread`. `meanwhile` is called when everything is in place, and not recorded yet.
  @discardableResult
  func pass(
    of folder: String = "source", from source: SourceIdentity, _ removals: ArrivedItems.Removals = .unsettled,
    isCutOff: Bool = false, existing: Existing = .merge, unread: [String] = [], taking permit: ArrivalPermit? = nil,
    dying death: Death = .none, touching touch: () -> Void = {}, meanwhile: (@Sendable () -> Void)? = nil
  ) throws -> Pass {
    scratch.letSettle()
    let root = [scratch.at("\(folder)/root")]
    let arrival = try Arrival(
      scratch, try Export(root).offer, existing: existing, completing: death == .none ? meanwhile : nil)
    arrival.staging.arrivals = try arrived(from: source, removals, dying: death)
    try arrival.staging.take(only: permit)
    let present = try arrival.importer.present(
      try Export(root).offer, for: arrival.staging, takesBases: true)
    expect(zip(present.present, present.present.dropFirst()).allSatisfy { $0 < $1 })
    var held = HeldItems()
    for (kind, marks) in [
      (Held.Kind.present, present.present), (.removed, present.removed), (.arrived, present.arrived),
      (.state, present.states), (.content, present.contents), (.base, present.bases),
    ] where !marks.isEmpty { held.add(Held(kind: kind, marks: marks)) }
    held.nameAbsent()
    if !scratch.exists(Self.lists) { scratch.makeDirectory(Self.lists) }
    let lists = SharedDirectory(try Directory.open(Array(scratch.path(Self.lists).utf8)))
    let blocks = BlockStore(lists, of: [Array("root".utf8): source])
    let export = try Export(root, held: held, blocks: blocks, isWhole: existing == .setAside)
    touch()
    try arrival.write(export.outlet.frames)
    var last = arrival.staging
    if isCutOff {
      try arrival.clear()
    } else {
      arrival.staging.drop(export.result.stale)
      let kept = UnreadableSource(unread.map { Array("root/\($0)".utf8) }, isAll: false)
      if death == .none {
        try arrival.finish(export.result.finish, keeping: kept)
      } else {
        try arrival.staging.complete(export.result.finish, keeping: kept) { _ in }
        if death == .killed {
          var moves = FolderImport(arrival.staging, to: try #require(arrival.staging.disk.destination))
          try moves.run { _ in }
        } else {
          _ = try arrival.importer.importItems(of: arrival.staging) { _ in }
        }
        meanwhile?()
        last = try #require(try arrival.importer.recover(export.offer, transfer: 0xABC, keys: testKeys))
        last.arrivals = try arrived(from: source, removals)
        _ = try arrival.importer.importItems(of: last) { _ in }
        try arrival.clear()
      }
    }
    let folders = try export.entries.filter { $0.record?.kind == .directory }
    let entries = try export.entries.filter { $0.record?.kind != .directory }
    func names(_ isMetadata: Bool) -> [String] {
      entries.filter { ($0.record?.kind == .metadata) == isMetadata }.map { String($0.text.dropFirst(5)) }.sorted()
    }
    var pass = Pass(
      sent: Set(names(false)).sorted(), folders: folders.map { String($0.text.dropFirst(5)) }.sorted(),
      following: names(true),
      refused: last.refusals(from: 0).map { String(decoding: $0.path.dropFirst(5), as: UTF8.self) },
      away: last.arrivals?.away.paths.map { String($0.text.dropFirst(5)) } ?? [],
      stayed: last.arrivals?.stayed.paths.map { String($0.text.dropFirst(5)) } ?? [],
      leftOut: export.result.finish.leftOut, removed: last.arrivals?.removed ?? Done.Removed())
    for entry in try export.entries {
      switch entry {
      case .item(_, let content): pass.content += content?.data.count ?? 0
      case .chunk(_, _, let data): pass.content += data.count
      case .base(let place, _, _): pass.ofBases += place.range.count
      case .hole: break
      }
    }
    return pass
  }
}

/// The file of the records of a process that dies when it has written so many bytes.
private final class MortalRecords: StagedFile {
  private let file: DiskFile
  private let left: Mutex<Int>

  init(_ file: DiskFile, _ bytes: Int) {
    self.file = file
    left = Mutex(bytes)
  }

  func write(at offset: UInt64, _ bytes: Span<UInt8>) throws(SystemError) {
    let count = left.withLock { left in
      let count = min(left, bytes.count)
      left -= bytes.count
      return max(0, count)
    }
    try file.write(at: offset, bytes.extracting(first: count))
    if count < bytes.count { throw SystemError(errno: EIO, operation: "live") }
  }

  func truncate(to size: UInt64) throws(SystemError) {
    if left.withLock({ $0 >= 0 }) { try file.truncate(to: size) }
  }
  func read(at offset: UInt64, into memory: inout MutableSpan<UInt8>) throws(SystemError) -> Int {
    try file.read(at: offset, into: &memory)
  }
  func size() throws(SystemError) -> UInt64 { try file.size() }
  func clear(_ range: Range<UInt64>) throws(SystemError) { try file.clear(range) }
  func synchronize() throws(SystemError) { try file.synchronize() }
  func setMode(_ mode: UInt32) throws(SystemError) { try file.setMode(mode) }
  func setOwner(_ owner: ItemRecord.Owner) throws(SystemError) { try file.setOwner(owner) }
  func setAttribute(_ attribute: ExtendedAttribute) throws(SystemError) { try file.setAttribute(attribute) }
  func setAccessList(_ list: [AccessEntry], _ kind: AccessListKind) throws(SystemError) {
    try file.setAccessList(list, kind)
  }
  func clearExtendedMetadata() throws(SystemError) { try file.clearExtendedMetadata() }
  func setTimes(modified: Timestamp) throws(SystemError) { try file.setTimes(modified: modified) }
}
