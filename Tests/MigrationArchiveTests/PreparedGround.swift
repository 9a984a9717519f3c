import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// A source, and a destination that already has some items of every kind.
struct PreparedGround {
  let scratch: Scratch
  let export: Export
  /// The destination before the transfer.
  let before: TreeSnapshot
  let source: TreeSnapshot

  /// With `.merge` both have items that belong together, too.
  init(for existing: Existing = .refuse) throws {
    scratch = try Scratch.withFolders()
    Self.fillSource(scratch)
    Self.fillDestination(scratch)
    if existing == .merge { Self.fillUnits(scratch) }
    export = try Export(["new.txt", "notes.txt", "photos"].map { [scratch] name in scratch.at("source/\(name)") })
    before = scratch.snapshot("destination")
    source = scratch.snapshot("source")
  }

  private static func fillSource(_ scratch: Scratch) {
    for name in ["photos", "photos/sub", "photos/sub/below", "photos/new", "photos/locked", "photos/to-folder"] {
      scratch.makeDirectory("source/\(name)")
    }
    for (index, name) in [
      "new.txt", "notes.txt", "photos/old.jpg", "photos/new.jpg", "photos/sub/deep", "photos/sub/below/leaf",
      "photos/new/one", "photos/locked/inside", "photos/to-folder/x", "photos/folder-to-file",
    ].enumerated() {
      scratch.write("source/\(name)", pattern(300 + index, seed: UInt64(index) + 1))
      scratch.setTime("source/\(name)", 1_600_000_000 + index, 5)
    }
    precondition(link("\(scratch.path)/source/photos/new.jpg", "\(scratch.path)/source/photos/new/twin") == 0)
    scratch.makeLink("source/photos/link", to: "new.jpg")
    scratch.setMode("source/photos/locked", 0o500)
    scratch.setMode("source/photos/sub", 0o750)
    for name in ["locked", "new", "sub/below", "sub", "to-folder"] {
      scratch.setTime("source/photos/\(name)", 1_500_000_000)
    }
    scratch.setTime("source/photos", 1_500_000_001)
  }

  private static func fillDestination(_ scratch: Scratch) {
    for name in ["photos", "photos/sub", "photos/own", "photos/folder-to-file"] {
      scratch.makeDirectory("destination/\(name)")
    }
    for name in [
      "notes.txt", "own.txt", "photos/old.jpg", "photos/own.jpg", "photos/sub/deep", "photos/sub/own", "photos/own/x",
      "photos/folder-to-file/kept", "photos/to-folder",
    ] {
      scratch.write("destination/\(name)", Array("the old content of \(name)".utf8), mode: 0o600)
      scratch.setTime("destination/\(name)", 1_400_000_000)
    }
    scratch.makeLink("destination/photos/link", to: "own.jpg")
    scratch.setMode("destination/photos/sub", 0o700)
  }

  /// A database that differs, a new one, and a working copy with a new file.
  private static func fillUnits(_ scratch: Scratch) {
    for side in ["source", "destination"] {
      for name in ["photos/work", "photos/work/.git"] { scratch.makeDirectory("\(side)/\(name)") }
      for name in ["db", "work/.git/HEAD", "work/file"] {
        scratch.write("\(side)/photos/\(name)", Array(name.utf8), mode: 0o600)
        scratch.setTime("\(side)/photos/\(name)", 1_300_000_000)
      }
    }
    for name in ["db-wal", "db-shm", "fresh", "fresh-journal", "work/new"] {
      scratch.write("source/photos/\(name)", Array(name.utf8), mode: 0o600)
      scratch.setTime("source/photos/\(name)", 1_300_000_001)
    }
    for name in ["work/.git", "work"] { scratch.setTime("source/photos/\(name)", 1_500_000_000) }
    scratch.setTime("source/photos", 1_500_000_001)
  }

  /// What arrives under new names where folders are merged, and the names that it has in the
  /// source.
  static let merged = [
    ("notes (2).txt", "notes.txt"), ("photos/old (2).jpg", "photos/old.jpg"), ("photos/link (2)", "photos/link"),
    ("photos/sub/deep (2)", "photos/sub/deep"), ("photos/folder-to-file (2)", "photos/folder-to-file"),
    ("photos/to-folder (2)/x", "photos/to-folder/x"), ("photos/db (2)", "photos/db"),
    ("photos/db (2)-shm", "photos/db-shm"), ("photos/db (2)-wal", "photos/db-wal"),
    ("photos/work (2)/file", "photos/work/file"), ("photos/work (2)/new", "photos/work/new"),
    ("photos/work (2)/.git/HEAD", "photos/work/.git/HEAD"),
  ]

  /// The destination now, without the staged data.
  var destination: TreeSnapshot {
    var snapshot = scratch.snapshot("destination")
    snapshot.entries = snapshot.entries.filter { !$0.key.starts(with: Array(".peer-".utf8)) }
    return snapshot
  }

  /// A receiver that has received everything.
  func arrive(_ existing: Existing) throws -> Arrival {
    let arrival = try Arrival(scratch, export.offer, existing: existing)
    try arrival.write(export.outlet.frames)
    return arrival
  }

  func migrate(_ existing: Existing) throws -> (renamed: [RenamedItem], notStored: [NotStored]) {
    // The items that a test has added to the source.
    let export = try Export(["new.txt", "notes.txt", "photos"].map { scratch.at("source/\($0)") })
    let arrival = try Arrival(scratch, export.offer, existing: existing)
    try arrival.write(export.outlet.frames)
    try arrival.finish(export.result.finish)
    return (arrival.staging.renamed, Array(arrival.staging.refusals(from: 0)))
  }

  /// Runs the same command once more.
  func goOn(_ existing: Existing?) throws {
    let importer = try FolderImporter(scratch, existing: existing)
    let staging = try #require(
      try importer.recover(export.offer, transfer: 0xABC, keys: testKeys))
    _ = try importer.importItems(of: staging) { _ in }
    try importer.area.clear(0xABC, testKeys)
  }

  /// The violations of a mode: forbidden changes, and, once the import is complete, missing
  /// changes. With `mayHavePlaceholder` a name that was free may have an empty file until then.
  func broken(_ existing: Existing, isWhole: Bool, mayHavePlaceholder: Bool = false) -> [String] {
    let now = destination
    var broken: [String] = []
    for (path, entry) in before.entries.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      let name = String(decoding: path, as: UTF8.self)
      let here = now.entries[path]
      var sent = source.entries[path]
      // A merged directory gets no permission that it did not have.
      if entry.type == S_IFDIR { sent?.mode &= entry.mode }
      let isSameKind = sent.map { ($0.type == S_IFDIR) == (entry.type == S_IFDIR) } ?? false
      if entry.type == S_IFDIR {
        guard here?.type == S_IFDIR else {
          broken.append("\(name) no longer exists")
          continue
        }
        // New entries change its time.
        let isOld = here?.mode == entry.mode
        let isNew = existing.replacesFiles && isSameKind && here?.mode == sent?.mode
        if !isOld && !isNew || isWhole && isSameKind && existing.replacesFiles && here != sent {
          broken.append("\(name) has other permissions or another time")
        }
      } else {
        let mustBeNew = existing.replacesFiles && isSameKind
        if here != entry, !mustBeNew || here != sent { broken.append("\(name) is neither old nor new") }
        if isWhole, mustBeNew, here != sent { broken.append("\(name) was not replaced") }
      }
    }
    for (path, sent) in source.entries where before.entries[path] == nil && !isKept(path, existing) {
      let name = String(decoding: path, as: UTF8.self)
      guard let here = now.entries[path] else {
        if isWhole, existing != .keepBoth { broken.append("\(name) has not been imported") }
        continue
      }
      if mayHavePlaceholder, !isWhole, here.type == S_IFREG, here.content.isEmpty { continue }
      // A new directory gets its permissions last.
      if here != sent, isWhole || sent.type != S_IFDIR { broken.append("\(name) differs from the sent item") }
    }
    return broken + unexpected(now, existing, isWhole, mayHavePlaceholder)
  }

  /// Whether an item from this path does not arrive there, because of what exists.
  private func isKept(_ path: [UInt8], _ existing: Existing) -> Bool {
    let names =
      ["photos/to-folder/"] + (existing == .merge ? ["photos/db-wal", "photos/db-shm", "photos/work/new"] : [])
    return names.contains { path.starts(with: Array($0.utf8)) }
  }

  private func unexpected(
    _ now: TreeSnapshot, _ existing: Existing, _ isWhole: Bool, _ mayHavePlaceholder: Bool
  ) -> [String] {
    let beside: [(String, String)] =
      switch existing {
      case .replace, .update:
        [("photos/folder-to-file (2)", "photos/folder-to-file"), ("photos/to-folder (2)/x", "photos/to-folder/x")]
      case .merge: Self.merged
      case .refuse, .skip, .keepBoth, .setAside: []
      }
    var broken: [String] = []
    for (name, original) in beside {
      let here = now[name]
      if mayHavePlaceholder, !isWhole, here?.type == S_IFREG, here?.content.isEmpty == true { continue }
      if here != source[original], isWhole || here != nil { broken.append("\(name) differs from \(original)") }
    }
    for path in now.entries.keys where before.entries[path] == nil && source.entries[path] == nil {
      let name = String(decoding: path, as: UTF8.self)
      let isBeside = name.contains(" (2)")
      if !isBeside || existing == .skip { broken.append("\(name) is unexpected") }
    }
    return broken
  }
}
