import MigrationEngine
import MigrationSystem
import MigrationWire

/// The package that a new app takes AppMigrationKit from: a clone of this project, or what `Scripts/install` and the Debian
/// package bring of it.
enum KitSources {
  /// The absolute path of the folder that was named, or of the one that belongs to a program.
  ///
  /// - Parameter program: The path of the program that runs, links resolved.
  static func find(_ named: [UInt8]?, program: [UInt8]) throws(TransferFailure) -> String {
    if let named { return try text(of: try checked(named)) }
    let folder = FileContent.split(program).directory
    let candidates = [folder + Array("/../share/peer/package".utf8)] + ancestors(of: folder)
    for candidate in candidates {
      if let found = canonicalPath(candidate), isPackage(found) { return try text(of: found) }
    }
    throw .usage(
      "the sources of AppMigrationKit are neither around nor beside \(VisibleText.quoted(program))",
      hint: "name with --package the folder of a clone of peer, or PREFIX/share/peer/package where it is installed")
  }

  /// Fails where an app's package and that of AppMigrationKit are one to SwiftPM: it knows packages by the names of their folders,
  /// and takes upper case for lower case.
  static func check(_ kit: String, for folder: [UInt8]) throws(TransferFailure) {
    let name = FileContent.split(Array(kit.utf8)).name
    guard String(decoding: name, as: UTF8.self).lowercased() == String(decoding: folder, as: UTF8.self).lowercased()
    else { return }
    throw TransferFailure(
      .refused,
      "the app's folder cannot be called \(VisibleText.quoted(folder)): SwiftPM would take it for \(VisibleText.quoted(kit))",
      hint: "Name another folder.")
  }

  /// A folder that the user named, if it is one of these.
  private static func checked(_ named: [UInt8]) throws(TransferFailure) -> [UInt8] {
    let path: [UInt8]
    do throws(SystemError) {
      path = try Directory.open(named).canonicalPath()
    } catch {
      guard error.isNotFound || error.isNotDirectory else { throw TransferFailure(.failed, "\(error)") }
      throw .usage("--package: there is no folder \(VisibleText.quoted(named))", hint: hint)
    }
    guard isPackage(path) else {
      throw TransferFailure(
        .refused, "--package: \(VisibleText.quoted(named)) has no Package.swift with Sources/AppMigrationKit",
        hint: hint)
    }
    return path
  }

  private static let hint = "Name the folder of a clone of peer, or PREFIX/share/peer/package where it is installed."

  /// A path as text, which Package.swift must be able to name.
  private static func text(of path: [UInt8]) throws(TransferFailure) -> String {
    guard let text = String(validating: path, as: UTF8.self) else {
      throw TransferFailure(
        .refused, "Package.swift cannot name \(VisibleText.quoted(path)), which is not UTF-8",
        hint: "Name another folder with --package.")
    }
    return text
  }

  /// The folders above a folder, itself included, the nearest one first.
  private static func ancestors(of folder: [UInt8]) -> [[UInt8]] {
    var (all, folder) = ([folder], folder)
    while folder.count > 1 {
      folder = FileContent.split(folder).directory
      all.append(folder)
    }
    return all
  }

  private static func canonicalPath(_ path: [UInt8]) -> [UInt8]? {
    try? Directory.open(path).canonicalPath()
  }

  private static func isPackage(_ path: [UInt8]) -> Bool {
    guard let folder = try? Directory.open(path) else { return false }
    return (try? folder.status("Package.swift").kind) == .regular
      && (try? folder.openDirectoryBeneath("Sources/AppMigrationKit").status().kind) == .directory
  }
}
