import MigrationSystem
import MigrationWire

/// An app that is installed, and its data.
///
/// What changes the data is done under the lock: preparing the container under any, everything else under an exclusive one.
package final class InstalledApp: Sendable {
  package let bundle: AppBundle
  let files: HomeFiles

  init(_ identifier: String, _ files: HomeFiles) throws(HostError) {
    self.bundle = try Self.bundle(of: identifier, files)
    self.files = files
  }

  /// Takes a bundle for an app that has its data in a directory; nothing need be there yet.
  init(_ bundle: AppBundle, in files: HomeFiles) {
    self.bundle = bundle
    self.files = files
  }

  private static func bundle(of identifier: String, _ files: HomeFiles) throws(HostError) -> AppBundle {
    do throws(HostError) {
      let bundle = try AppBundle(installedAt: Array(files.path("apps/\(identifier)/bundle").utf8))
      guard bundle.identifier == identifier else {
        throw HostError.bundle("Info.plist", key: "CFBundleIdentifier", "it is not '\(identifier)'")
      }
      return bundle
    } catch {
      // The file or directory is one of ours, and no user has named it.
      let name = "the installed app \(identifier)"
      let words = error.fault.map { fault in
        "\(VisibleText.quoted(fault.file)): \(fault.key.map { "\($0): " } ?? "")\(fault.reason)"
      }
      throw HostError(
        error.fault == nil && error.code != .source ? error.code : .bundle,
        "\(name) is damaged: \(words ?? error.description)",
        hint: "'peer app install' puts a whole one in its place; its data stays.", name: error.name)
    }
  }

  package var identifier: String { bundle.identifier }

  /// Where the app's data is: what the app has for its home.
  package var containerPath: String { files.path(container) }
  /// The file that keeps how the last import ended.
  package var statusPath: String { files.path(status) }
  /// Where a migration collects what arrives; made by whoever does.
  package var stagingPath: String { files.path(stagingPlace) }

  /// Where the data of some of the app's groups is.
  package func groupPaths(_ groups: [String]) -> [String: String] {
    Dictionary(
      groups.map { ($0, files.path(AppHome.Folder.groups.place($0))) }, uniquingKeysWith: { first, _ in first })
  }

  /// Everything in PEER_HOME that is the app's own and that is there: its bundle, its container, its groups and how its last import
  /// ended.
  package var ownPaths: [String] {
    let groups = bundle.allGroups.map { AppHome.Folder.groups.place($0) }
    let places = [AppHome.Folder.apps.place(identifier), container, status] + groups
    return places.filter { ((try? files.kind(of: $0)) ?? nil) != nil }.map { files.path($0) }
  }

  /// Takes the app's lock; a refusal says who has it.
  package func lock(_ use: AppLock.Use) throws(HostError) -> AppLock {
    try AppLock.take(use, of: identifier, in: files)
  }

  /// Who has the app's lock just now; nil if nobody has.
  package func holder() throws(HostError) -> AppLock.Holder? {
    try AppLock.holder(of: identifier, in: files)
  }

  /// How the last import ended; nil if there was none, or the app has cleared it.
  package var importRecord: ImportRecord? { ImportRecord.read(from: statusPath) }

  /// Forgets how the last import ended, as the app itself can do.
  package func clearImportRecord() throws(HostError) {
    try files.remove(status)
  }

  var container: String { AppHome.Folder.containers.place(identifier) }
  var stagingPlace: String { AppHome.Folder.staging.place(identifier) }
  var replaced: String { AppHome.Folder.replaced.place(identifier) }
  var status: String { AppHome.Folder.statuses.place("\(identifier).json") }
  var starts: String { AppHome.Folder.statuses.place("\(identifier).starts") }
  var mark: String { AppHome.Folder.imports.place("\(identifier).mark") }
  var trash: String { AppHome.Folder.trash.place(identifier) }
}
