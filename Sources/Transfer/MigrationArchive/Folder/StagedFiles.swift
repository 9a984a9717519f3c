import MigrationSystem
package import MigrationWire

/// The staged files of a complete part, before any of them moves to the destination: for a look at
/// them, and to change small ones.
///
/// A change is one step, and it may be repeated: a run that is killed leaves each file old or new,
/// and the next run looks again.
package struct StagedFiles {
  private let places: any StagingTree
  private let staging: Staging

  init(of staging: Staging) {
    self.staging = staging
    places = staging.disk.places()
  }

  /// The bytes of a file; nil if there is no file, or a longer one.
  package func content(of path: ArchivePath, atMost limit: Int) -> [UInt8]? {
    beginning(of: path, limit + 1).flatMap { $0.count > limit ? nil : $0 }
  }

  /// The first bytes of a file, at most so many; nil if there is no file that can be read.
  private func beginning(of path: ArchivePath, _ count: Int) -> [UInt8]? {
    guard (try? places.kind(of: path)) == .regular else { return nil }
    return try? places.beginning(of: path, count)
  }

  /// An item as a look shows it.
  package enum Sight: Equatable, Sendable {
    /// The target of a symbolic link.
    case link([UInt8])
    /// The content of a small file without a zero byte.
    case text([UInt8])
    /// The first bytes of another file.
    case other([UInt8])
  }

  /// How many bytes of a file are looked at first, and the longest file whose content is.
  private static let (first, small) = (512, 64 << 10)

  /// Shows the files and the symbolic links in the order of their paths: at most so many, and as long
  /// as fewer than so many bytes are read of them all.
  package func look(atMost items: Int, bytes: Int = 64 << 20, _ body: (ArchivePath, Sight) -> Void) {
    var (items, bytes) = (items, bytes)
    forEachItem { path, isLink in
      guard items > 0, bytes > 0 else { return false }
      items -= 1
      if isLink {
        guard let target = try? places.readLink(path) else { return true }
        bytes -= target.count
        body(path, .link(target))
        return true
      }
      guard var content = beginning(of: path, Self.first) else { return true }
      bytes -= content.count
      var isText = !content.contains(0)
      if isText, content.count == Self.first {
        guard let whole = beginning(of: path, Self.small + 1) else { return true }
        bytes -= whole.count
        isText = whole.count <= Self.small && !whole.contains(0)
        if isText { content = whole }
      }
      body(path, isText ? .text(content) : .other(content))
      return true
    }
  }

  /// Visits the files and the symbolic links in the order of their paths, until the closure returns false.
  private func forEachItem(_ body: (_ path: ArchivePath, _ isLink: Bool) -> Bool) {
    var pending: [ArchivePath?] = [nil]
    while let directory = pending.popLast() {
      guard let entries = try? places.entries(of: directory) else { continue }
      var below: [ArchivePath] = []
      for (name, kind) in entries.sorted(by: { $0.name.lexicographicallyPrecedes($1.name) }) {
        guard let path = try? directory?.appending(name.span) ?? ArchivePath(name) else { continue }
        if kind == .directory { below.append(path) }
        if kind == .regular || kind == .symbolicLink, !body(path, kind == .symbolicLink) { return }
      }
      pending += below.reversed()
    }
  }

  /// A name that no item of a part of an app can have: roots are keys.
  private static let next = Array(".next".utf8)

  /// Gives a file other bytes; its metadata stays.
  package func replaceContent(of path: ArchivePath, with content: [UInt8]) throws(Failure) {
    do {
      // Otherwise a later migration takes it for changed by this device's user.
      try staging.journal.append([.rewritten(path, size: UInt64(content.count))])
      let next = try ArchivePath(Self.next)
      // A kill may have left it.
      try places.remove(next)
      try places.makeCopy(next, of: path)
      let file = try places.openFile(next)
      try file.truncate(to: 0)
      try file.write(at: 0, content.span)
      if let entry = try staging.disk.destination?.occupant(ofStaged: path) {
        try file.setMode(entry.mode)
        if let modified = entry.modified { try file.setTimes(modified: modified) }
      }
      try file.synchronize()
      try places.replace(path, with: next)
    } catch {
      throw Failure(
        .importFailed, "\(VisibleText.quoted(path)) cannot be changed before it arrives", name: path.bytes,
        cause: error as? SystemError)
    }
  }
}
