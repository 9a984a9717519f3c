import MigrationSystem
import MigrationWire

@testable import MigrationArchive

/// A real disk whose destination treats names that differ only in case as equal, while its staging
/// does not: like a directory that folds names in a file system whose other directories do not. No
/// kernel here has such a file system.
struct FoldingDestination: ImportDestination {
  let disk: DirectoryDisk
  /// Short forms of names, by which the disk finds entries but does not list them.
  var short: [String: String] = [:]

  /// The path as the destination lists it, or unchanged if it does not exist.
  private func listed(_ path: ArchivePath) throws(SystemError) -> ArchivePath {
    var real: ArchivePath?
    for component in path.components {
      let folded = Self.fold(component)
      let wanted = short[folded] ?? folded
      let there = try? disk.names(in: real)?.first { Self.fold($0[...]) == wanted }
      let name = there ?? Array(component)
      guard let next = try? real?.appending(name.span) ?? ArchivePath(name) else { return path }
      real = next
    }
    return real ?? path
  }

  private static func fold(_ name: ArraySlice<UInt8>) -> String { String(decoding: name, as: UTF8.self).lowercased() }

  func occupant(ofStaged path: ArchivePath) throws(SystemError) -> ExistingEntry? { try disk.occupant(ofStaged: path) }
  func occupant(at target: ArchivePath) throws(SystemError) -> ExistingEntry? {
    try disk.occupant(at: listed(target))
  }
  func move(_ path: ArchivePath, to target: ArchivePath) throws(SystemError) {
    try disk.move(path, to: listed(target))
  }
  func link(_ path: ArchivePath, to target: ArchivePath) throws(SystemError) {
    try disk.link(path, to: listed(target))
  }
  func createPlaceholder(_ target: ArchivePath, isDirectory: Bool) throws(SystemError) -> ExistingEntry {
    try disk.createPlaceholder(listed(target), isDirectory: isDirectory)
  }
  func release(_ target: ArchivePath, isDirectory: Bool) throws(SystemError) {
    try disk.release(listed(target), isDirectory: isDirectory)
  }
  func replace(_ target: ArchivePath, with path: ArchivePath) throws(SystemError) {
    try disk.replace(listed(target), with: path)
  }
  func isPresent(_ path: ArchivePath, at target: ArchivePath, timeGranularity: UInt32) -> Bool {
    guard let place = try? listed(target) else { return false }
    return disk.isPresent(path, at: place, timeGranularity: timeGranularity)
  }

  func isCopy(of path: ArchivePath, at target: ArchivePath) throws(SystemError) -> Bool {
    try disk.isCopy(of: path, at: listed(target))
  }
  func names(in directory: ArchivePath?) throws(SystemError) -> [[UInt8]]? {
    try disk.names(in: directory.map { (path) throws(SystemError) in try listed(path) })
  }
  func open(staged path: ArchivePath) throws(SystemError) -> any StagedFile { try disk.open(staged: path) }
  func open(_ target: ArchivePath, seen: ExistingEntry) throws(SystemError) -> any StagedFile {
    try disk.open(target, seen: seen)
  }
  func synchronize() throws(SystemError) { try disk.synchronize() }
}
