import MigrationSystem
package import MigrationWire

/// An installed app, and its data.
///
/// Changes of the data need the lock: preparing the container needs any lock, all other changes an
/// exclusive one.
package final class InstalledApp: Sendable {
  package let bundle: AppBundle
  let files: HomeFiles

  init(_ identifier: String, _ files: HomeFiles) throws(Failure) {
    self.bundle = try Self.bundle(of: identifier, files)
    self.files = files
  }

  /// The app of a bundle that has been read, with its data in a directory. The directory may be
  /// missing.
  init(_ bundle: AppBundle, in files: HomeFiles) {
    self.bundle = bundle
    self.files = files
  }

  private static func bundle(of identifier: String, _ files: HomeFiles) throws(Failure) -> AppBundle {
    do throws(Failure) {
      let bundle = try AppBundle(installedAt: Array(files.path("apps/\(identifier)/bundle").utf8))
      guard bundle.identifier == identifier else {
        throw Failure.bundle("Info.plist", key: "CFBundleIdentifier", "it is not '\(identifier)'")
      }
      return bundle
    } catch {
      // The file or directory belongs to this program, and the user has not named it.
      let name = "the installed app \(identifier)"
      let words = error.fault.map { fault in
        "\(VisibleText.quoted(fault.file)): \(fault.key.map { "\($0): " } ?? "")\(fault.reason)"
      }
      throw Failure(
        error.fault == nil && error.code != .source ? error.code : .unfitApp,
        "\(name) is damaged: \(words ?? error.description)",
        hint: "'peer app install' replaces it with an intact one; its data is kept.", name: error.name)
    }
  }

  package var identifier: String { bundle.identifier }

  /// The path of the app's data container, which is the app's home.
  package var containerPath: String { files.path(container) }
  /// The path of the file with the result of the last import.
  package var statusPath: String { files.path(status) }
  /// The directory in which a migration stages the received data; created by the migration.
  package var stagingPath: String { files.path(stagingPlace) }

  /// The paths of the data of some of the app's groups.
  package func groupPaths(_ groups: [String]) -> [String: String] {
    Dictionary(
      groups.map { ($0, files.path(AppHome.Folder.groups.place($0))) }, uniquingKeysWith: { first, _ in first })
  }

  /// The existing paths in PEER_HOME that belong only to the app: its bundle, its container, its
  /// groups and the result of its last import.
  package var ownPaths: [String] {
    let groups = bundle.allGroups.map { AppHome.Folder.groups.place($0) }
    let places = [AppHome.Folder.apps.place(identifier), container, status] + groups
    return places.filter { ((try? files.kind(of: $0)) ?? nil) != nil }.map { files.path($0) }
  }

  /// Takes the app's lock; a failure names its holder.
  package func lock(_ use: AppLock.Use) throws(Failure) -> AppLock {
    try AppLock.take(use, of: identifier, in: files)
  }

  /// The current holder of the app's lock; nil if there is none.
  package func holder() throws(Failure) -> AppLock.Holder? {
    try AppLock.holder(of: identifier, in: files)
  }

  /// The result of the last import; nil if there was none, or the app has cleared it.
  package var importRecord: ImportRecord? { ImportRecord.read(from: statusPath) }

  /// The same, where data depends on it: fails if there is a record that cannot be read.
  var decidedImport: ImportRecord? {
    get throws(Failure) {
      guard try files.kind(of: status) != nil else { return nil }
      if let record = importRecord { return record }
      throw Failure(
        .failed, "the result of the last import of \(identifier) cannot be read",
        hint: "If the app has its new data, remove the file; an interrupted import is then undone: "
          + VisibleText.listed(Array(statusPath.utf8)))
    }
  }

  /// Removes the result of the last import, as the app itself can do.
  package func clearImportRecord() throws(Failure) {
    try files.remove(status)
  }

  var container: String { AppHome.Folder.containers.place(identifier) }
  var stagingPlace: String { AppHome.Folder.staging.place(identifier) }
  var replaced: String { AppHome.Folder.replaced.place(identifier) }
  var status: String { AppHome.Folder.statuses.place("\(identifier).json") }
  var mark: String { AppHome.Folder.imports.place("\(identifier).mark") }
  /// A file that takes the room for what follows an import.
  var room: String { AppHome.Folder.imports.place("\(identifier).room") }
  var trash: String { AppHome.Folder.trash.place(identifier) }
}

/// The form of the identifiers of apps, extensions and groups, so that each can be a file name.
package enum AppName {
  /// File names contain them, with up to fifty more bytes, and have at most 255 bytes.
  package static let longest = 200

  /// The rule in words, to follow "is not".
  package static let rule =
    "1 to 200 letters, digits, dots and hyphens, the first one a letter or digit, and no two dots in a row"

  /// Whether a text has this form.
  package static func isWellFormed(_ text: String) -> Bool {
    guard let first = text.utf8.first, first.isLetterOrDigit, text.utf8.count <= longest else { return false }
    let (dot, hyphen) = (UInt8(ascii: "."), UInt8(ascii: "-"))
    var last = first
    for byte in text.utf8.dropFirst() {
      guard byte.isLetterOrDigit || byte == hyphen || byte == dot && last != dot else { return false }
      last = byte
    }
    return true
  }
}
