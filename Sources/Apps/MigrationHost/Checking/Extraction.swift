package import MigrationArchive
import MigrationSystem
package import MigrationWire

/// A folder into which the archive of a trial is extracted: the items as an importer gets them.
///
/// They are staged beside the folder, under a name of their own, and appear there at the end.
final class Extraction: Sendable {
  let staging: Staging
  private let disk: DirectoryDisk
  private let parent: SharedDirectory
  private let name: [UInt8]
  private let path: [UInt8]

  /// Fails unless the folder is new or empty; its parent exists.
  init(to path: [UInt8], keys: TransferKeys) throws(Failure) {
    var trimmed = path
    while trimmed.count > 1, trimmed.last == UInt8(ascii: "/") { trimmed.removeLast() }
    let parent: [UInt8]
    (parent, name) = FileContent.split(trimmed)
    self.path = path
    let prefix = ".\(String(decoding: name, as: UTF8.self)).\(try InstalledApp.randomName())"
    do throws(SystemError) {
      self.parent = SharedDirectory(try Directory.open(parent))
      guard try Self.isUnused(name, in: self.parent) else { throw SystemError(alreadyExisting: "create") }
      disk = try DirectoryDisk(making: Array(prefix.utf8), in: self.parent)
    } catch {
      throw Failure(
        .refused, "nothing can be extracted into \(VisibleText.quoted(path))",
        hint: "Name a new or an empty folder, whose parent exists.", cause: error)
    }
    staging = try Staging(ofExportOn: disk, keys: keys)
  }

  private static func isUnused(_ name: [UInt8], in parent: SharedDirectory) throws(SystemError) -> Bool {
    if try parent.directory.isFree(name) { return true }
    return try parent.directory.openChildDirectory(name).isEmpty()
  }

  deinit { try? disk.remove() }

  /// Puts the items in their place, once all of them have been written.
  func complete(_ finish: Finish) throws(Failure) {
    do {
      try staging.complete(finish) { _ in }
      if try !parent.directory.isFree(name) { try parent.directory.removeDirectory(name) }
      try parent.directory.openChildDirectory(disk.name).renameAmongOwn("tree", to: parent.directory, as: name)
    } catch let error as Failure {
      throw error
    } catch {
      throw Failure(
        .storage, "the archive cannot be put into \(VisibleText.quoted(path))", cause: error as? SystemError)
    }
  }
}

extension Staging {
  /// Stages an export outside of a transfer, of any size.
  package convenience init(ofExportOn disk: any StagingDisk, keys: TransferKeys) throws(Failure) {
    let app = AppIdentity(bundleIdentifier: "", store: "", platform: "", version: "")
    let offer = Offer(
      contents: .app(app), items: UInt64(UInt32.max), bytes: Limits.fileSize, allocated: 0, flags: .estimated)
    try self.init(on: disk, for: offer, transfer: 0, keys: keys)
  }
}
