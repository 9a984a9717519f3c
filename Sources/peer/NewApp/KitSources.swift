import MigrationEngine
import MigrationSystem
import MigrationWire

/// The package that contains AppMigrationKit for a new app: a clone of this project, or the copy
/// that `Scripts/install` and the Debian package install.
enum KitSources {
  /// The absolute path of the named folder, or of the folder that belongs to a program.
  ///
  /// - Parameter program: The path of the running program, with links resolved.
  static func find(_ named: [UInt8]?, program: [UInt8]) throws(TransferFailure) -> String {
    if let named { return try text(of: try checked(named)) }
    let folder = FileContent.split(program).directory
    let candidates = [folder + Array("/../share/peer/package".utf8)] + ancestors(of: folder)
    for candidate in candidates {
      if let found = canonicalPath(candidate), isPackage(found) { return try text(of: found) }
    }
    throw .usage(
      "the sources of AppMigrationKit were found neither above nor next to \(VisibleText.quoted(program))",
      hint: "use --package with the folder of a clone of peer, or with PREFIX/share/peer/package of an installation")
  }

  /// Fails if SwiftPM takes an app's package and that of AppMigrationKit for the same one: it
  /// compares the names of their folders, and ignores case.
  static func check(_ kit: String, for folder: [UInt8]) throws(TransferFailure) {
    let name = FileContent.split(Array(kit.utf8)).name
    guard String(decoding: name, as: UTF8.self).lowercased() == String(decoding: folder, as: UTF8.self).lowercased()
    else { return }
    throw TransferFailure(
      .refused,
      "the app's folder cannot be named \(VisibleText.quoted(folder)): SwiftPM would confuse it with \(VisibleText.quoted(kit))",
      hint: "Name another folder.")
  }

  /// The named folder, if it contains AppMigrationKit.
  private static func checked(_ named: [UInt8]) throws(TransferFailure) -> [UInt8] {
    let path: [UInt8]
    do throws(SystemError) {
      path = try Directory.open(named).canonicalPath()
    } catch {
      guard error.isNotFound || error.isNotDirectory else { throw TransferFailure(.failed, "\(error)") }
      throw .usage("--package: no such folder: \(VisibleText.quoted(named))", hint: hint)
    }
    guard isPackage(path) else {
      throw TransferFailure(
        .refused, "--package: \(VisibleText.quoted(named)) contains no Package.swift with Sources/AppMigrationKit",
        hint: hint)
    }
    return path
  }

  private static let hint = "Name the folder of a clone of peer, or PREFIX/share/peer/package of an installation."

  /// A path as text, for Package.swift.
  private static func text(of path: [UInt8]) throws(TransferFailure) -> String {
    guard let text = String(validating: path, as: UTF8.self) else {
      throw TransferFailure(
        .refused, "Package.swift cannot name \(VisibleText.quoted(path)), which is not UTF-8",
        hint: "Name another folder with --package.")
    }
    return text
  }

  /// A folder and all folders above it, the nearest first.
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
