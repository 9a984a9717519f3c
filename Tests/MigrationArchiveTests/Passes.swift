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
  }

  static let record = "arrived"
  private let scratch: Scratch

  init(_ scratch: Scratch) { self.scratch = scratch }

  func arrived(from source: SourceIdentity, _ removals: ArrivedItems.Removals = .unsettled) throws -> ArrivedItems {
    let directory = try Directory.open(Array(scratch.path("").utf8))
    let root = Array("root".utf8)
    return try ArrivedItems(
      DiskFile(try directory.openOrCreateFile(Array(Self.record.utf8))), of: [root: source],
      removals: [root: removals])
  }

  /// How an import ends at first.
  enum Death: CaseIterable {
    case none
    /// Killed when everything is in place, before that is recorded; another run completes it.
    case killed
  }

  /// One transfer; `isCutOff` lets it end before everything has come, and the sender could not read what
  /// is `unread`. `meanwhile` is called when everything is in place, and not recorded yet.
  @discardableResult
  func pass(
    of folder: String = "source", from source: SourceIdentity, _ removals: ArrivedItems.Removals = .unsettled,
    isCutOff: Bool = false, existing: Existing = .merge, unread: [String] = [], taking permit: ArrivalPermit? = nil,
    dying death: Death = .none, meanwhile: (@Sendable () -> Void)? = nil
  ) throws -> Pass {
    scratch.letSettle()
    let root = [scratch.at("\(folder)/root")]
    let arrival = try Arrival(
      scratch, try Export(root).offer, existing: existing, completing: death == .none ? meanwhile : nil)
    arrival.staging.arrivals = try arrived(from: source, removals)
    try arrival.staging.take(only: permit)
    let present = try arrival.importer.present(try Export(root).offer, for: arrival.staging, after: arrival.judgement)
    #expect(zip(present.present, present.present.dropFirst()).allSatisfy { $0 < $1 })
    var held = HeldItems()
    held.add(Held(kind: .present, marks: present.present))
    held.add(Held(kind: .removed, marks: present.removed))
    held.add(Held(kind: .arrived, marks: present.arrived))
    held.add(Held(kind: .state, marks: present.states))
    held.add(Held(kind: .content, marks: present.contents))
    held.nameAbsent()
    let export = try Export(root, held: held)
    try arrival.write(export.outlet.frames)
    if isCutOff {
      try arrival.clear()
    } else {
      arrival.staging.drop(export.result.stale)
      let kept = UnreadableSource(unread.map { Array("root/\($0)".utf8) }, isAll: false)
      if death == .killed {
        try arrival.staging.complete(export.result.finish, keeping: kept) { _ in }
        var moves = FolderImport(arrival.staging, to: try #require(arrival.staging.disk.destination))
        try moves.run { _ in }
        meanwhile?()
        let again = try #require(try arrival.importer.recover(export.offer, transfer: 0xABC, keys: testKeys))
        again.arrivals = arrival.staging.arrivals
        _ = try arrival.importer.importItems(of: again) { _ in }
        try arrival.clear()
      } else {
        try arrival.finish(export.result.finish, keeping: kept)
      }
    }
    let folders = try export.entries.filter { $0.record?.kind == .directory }
    let entries = try export.entries.filter { $0.record?.kind != .directory }
    func names(_ isMetadata: Bool) -> [String] {
      entries.filter { ($0.record?.kind == .metadata) == isMetadata }.map { String($0.text.dropFirst(5)) }.sorted()
    }
    return Pass(
      sent: Set(names(false)).sorted(), folders: folders.map { String($0.text.dropFirst(5)) }.sorted(),
      following: names(true),
      refused: arrival.staging.refusals(from: 0).map { String(decoding: $0.path.dropFirst(5), as: UTF8.self) },
      away: arrival.staging.arrivals?.away.paths.map { String($0.text.dropFirst(5)) } ?? [],
      stayed: arrival.staging.arrivals?.stayed.paths.map { String($0.text.dropFirst(5)) } ?? [],
      leftOut: export.result.finish.leftOut, removed: arrival.staging.arrivals?.removed ?? Done.Removed())
  }
}
