import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// The folder of a new app: a new or an empty one.
///
/// All files are first written to a folder with a temporary name, next to the new folder or inside
/// the empty one. So the app appears complete; a failure leaves nothing.
struct NewAppFolder: ~Copyable {
  /// The absolute path.
  let path: [UInt8]
  /// The directory of the temporary folder, on the file system of the destination.
  private let parent: Directory
  /// The folder's final name in `parent`; nil if `parent` is the folder itself.
  private let name: [UInt8]?

  /// Opens a folder for a new app.
  static func open(_ typed: [UInt8]) throws(Failure) -> NewAppFolder {
    do throws(SystemError) {
      if let folder = try NewAppFolder(opening: typed) { return folder }
    } catch  where error.isNotDirectory || error.isAlreadyExisting {
      throw Failure(.refused, "\(VisibleText.quoted(typed)) is not a folder, and is not changed", hint: hint)
    } catch  where error.isNotFound {
      throw .usage(
        "the parent folder of \(VisibleText.quoted(typed)) does not exist", hint: "Create it first.")
    } catch {
      throw Failure(error)
    }
    throw Failure(
      .refused, "the folder \(VisibleText.quoted(typed)) is not empty, and is not changed", hint: hint)
  }

  private static let hint = "Name a new or an empty folder."

  /// Nil if the folder is not empty.
  private init?(opening typed: [UInt8]) throws(SystemError) {
    var trimmed = typed
    while trimmed.count > 1, trimmed.last == UInt8(ascii: "/") { trimmed.removeLast() }
    if let folder = try Self.existing(trimmed) {
      guard try folder.isEmpty() else { return nil }
      path = try folder.canonicalPath()
      name = nil
      parent = folder
    } else {
      let (directory, last) = FileContent.split(trimmed)
      let above = try Directory.open(directory)
      // A broken link takes the name.
      guard try above.isFree(last) else { throw SystemError(alreadyExisting: "make") }
      let root = try above.canonicalPath()
      path = (root.count > 1 ? root : []) + [UInt8(ascii: "/")] + last
      name = last
      parent = above
    }
  }

  private static func existing(_ path: [UInt8]) throws(SystemError) -> Directory? {
    do {
      return try Directory.open(path)
    } catch  where error.isNotFound {
      return nil
    }
  }

  /// The name of the folder.
  var folderName: [UInt8] { FileContent.split(path).name }

  /// Writes all files, or none.
  func write(_ files: [NewAppFile]) throws(Failure) {
    try SystemError.mapped(writeAll(files)) {
      Failure(
        $0.isNoSpace ? .noSpace : $0.isAlreadyExisting || $0.isNotEmpty ? .refused : .failed,
        "the app cannot be created in \(VisibleText.quoted(path)): \($0.words)",
        hint: $0.isNoSpace ? "Free some space, or name a folder on another disk." : nil)
    }
  }

  private func writeAll(_ files: [NewAppFile]) throws(SystemError) {
    let draft = Array(".peer-new-\(try SystemRandom.bytes(8).hexadecimal)".utf8)
    try parent.makeDirectory(draft, mode: 0o777)
    do throws(SystemError) {
      let folder = try parent.openChildDirectory(draft)
      for file in files { try Self.write(file, to: folder) }
      if let name {
        try parent.renameAmongOwn(draft, to: parent, as: name)
      } else {
        try publishEach(of: folder)
        try parent.removeDirectory(draft)
      }
    } catch {
      try? parent.removeTree(ifThere: draft)
      throw error
    }
  }

  /// Moves all items of a folder up into the empty one.
  private func publishEach(of folder: borrowing Directory) throws(SystemError) {
    let names = try folder.names()
    var moved: [[UInt8]] = []
    do throws(SystemError) {
      for name in names {
        try folder.renameAmongOwn(name, to: parent, as: name)
        moved.append(name)
      }
    } catch {
      for name in moved { try? parent.removeTree(ifThere: name) }
      throw error
    }
  }

  private static func write(_ file: NewAppFile, to folder: borrowing Directory) throws(SystemError) {
    let (directory, name) = FileContent.split(Array(file.path.utf8))
    let mode: UInt32 = file.isExecutable ? 0o777 : 0o666
    let target =
      file.path.contains("/") ? try folder.makeDirectories(directory, mode: 0o777) : try folder.duplicate()
    let descriptor = try target.createFile(name, mode: mode)
    try descriptor.write(at: 0, file.text.utf8.span)
    try descriptor.close()
  }
}

/// The package that contains AppMigrationKit for a new app: a clone of this project, or the copy
/// that `Scripts/install` and the Debian package install.
enum KitSources {
  /// The absolute path of the named folder, or of the folder that belongs to a program.
  ///
  /// - Parameter program: The path of the running program, with links resolved.
  /// - Parameter shared: The folders in which systems keep the files of installed programs.
  static func find(
    _ named: [UInt8]?, program: [UInt8], shared: [[UInt8]] = sharedFolders()
  ) throws(Failure) -> String {
    if let named { return try text(of: try checked(named)) }
    let own = ShippedFolder("package", source: "", of: program)
    let candidates =
      [own?.distrust == nil ? own?.path : nil].compactMap(\.self) + shared.map { $0 + Array("/peer/package".utf8) }
    for candidate in candidates {
      if let found = canonicalPath(candidate), isPackage(found) { return try text(of: found) }
    }
    throw .usage(
      "the sources of AppMigrationKit were found neither in the clone nor in the installation of "
        + "\(VisibleText.quoted(program)), nor in "
        + shared.map { VisibleText.quoted($0) }.joined(separator: ", "),
      hint:
        "Name the folder of a clone of peer, or PREFIX/share/peer/package: peer app new DIR --package FOLDER")
  }

  /// The folders of XDG's base directories for data, the user's first.
  private static func sharedFolders() -> [[UInt8]] {
    let home = Environment.bytes("HOME").map { $0 + Array("/.local/share".utf8) }
    let system = Environment.bytes("XDG_DATA_DIRS") ?? Array("/usr/local/share:/usr/share".utf8)
    let all =
      [Environment.bytes("XDG_DATA_HOME") ?? home].compactMap { $0 }
      + system.split(separator: UInt8(ascii: ":")).map(Array.init)
    return all.filter { $0.first == UInt8(ascii: "/") }
  }

  /// Fails if SwiftPM takes an app's package and that of AppMigrationKit for the same one: it
  /// compares the names of their folders, and ignores case.
  static func check(_ kit: String, for folder: [UInt8]) throws(Failure) {
    let name = FileContent.split(Array(kit.utf8)).name
    guard String(decoding: name, as: UTF8.self).lowercased() == String(decoding: folder, as: UTF8.self).lowercased()
    else { return }
    throw Failure(
      .refused,
      "the app's folder cannot be named \(VisibleText.quoted(folder)): SwiftPM would confuse it with \(VisibleText.quoted(kit))",
      hint: "Name another folder.")
  }

  /// The named folder, if it contains AppMigrationKit.
  private static func checked(_ named: [UInt8]) throws(Failure) -> [UInt8] {
    let path: [UInt8]
    do throws(SystemError) {
      path = try Directory.open(named).canonicalPath()
    } catch {
      guard error.isNotFound || error.isNotDirectory else { throw Failure(error) }
      throw .usage("--package: no such folder: \(VisibleText.quoted(named))", hint: hint)
    }
    guard isPackage(path) else {
      throw Failure(
        .refused, "--package: \(VisibleText.quoted(named)) contains no Package.swift with Sources/Apps/AppMigrationKit",
        hint: hint)
    }
    return path
  }

  private static let hint = "Name the folder of a clone of peer, or PREFIX/share/peer/package of an installation."

  /// A path as text, for Package.swift.
  private static func text(of path: [UInt8]) throws(Failure) -> String {
    guard let text = String(validating: path, as: UTF8.self) else {
      throw Failure(
        .refused, "Package.swift cannot name \(VisibleText.quoted(path)), which is not UTF-8",
        hint: "Name another folder with --package.")
    }
    return text
  }

  private static func canonicalPath(_ path: [UInt8]) -> [UInt8]? {
    try? Directory.open(path).canonicalPath()
  }

  private static func isPackage(_ path: [UInt8]) -> Bool {
    guard let folder = try? Directory.open(path) else { return false }
    return (try? folder.status("Package.swift").kind) == .regular
      && (try? folder.openDirectoryBeneath("Sources/Apps/AppMigrationKit").status().kind) == .directory
  }
}

/// A folder of files that come with the program: of its installation, or of the clone that it was
/// built in.
struct ShippedFolder: Equatable {
  let path: [UInt8]
  /// Why it is not used.
  let distrust: String?

  private static let (slash, dot) = (UInt8(ascii: "/"), UInt8(ascii: "."))
  /// The folder of a clone in which its programs are built.
  private static let building = Array(".build".utf8)

  /// The place of a folder, which need not exist; nil for a program that is in neither.
  ///
  /// - Parameters:
  ///   - name: its name below share/peer.
  ///   - source: its place in the project.
  ///   - program: the path of the running program, with links resolved.
  ///   - homes: the homes of this user.
  init?(
    _ name: String, source: String, of program: [UInt8]? = try? Self.program(), homes: [[UInt8]] = Self.homes()
  ) {
    guard let program else { return nil }
    let names = program.split(separator: Self.slash).map(Array.init)
    func path(_ parts: some Sequence<[UInt8]>, _ rest: String) -> [UInt8] {
      parts.flatMap { [Self.slash] + $0 } + Array(rest.utf8)
    }
    if let building = names.lastIndex(of: Self.building) {
      self.init(path: path(names[..<building], source.isEmpty ? "" : "/\(source)"), distrust: nil)
      return
    }
    guard names.count > 1, names[names.count - 2] == Array("bin".utf8) else { return nil }
    let folder = path(names.dropLast(2), "/share/peer/\(name)")
    let isInReach = homes.contains { home in
      let start = home + [Self.slash]
      return folder.starts(with: start) && folder[start.count] != Self.dot
    }
    self.init(
      path: folder,
      distrust: isInReach ? "they are in a folder of the home into which another device may put files" : nil)
  }

  init(path: [UInt8], distrust: String?) { (self.path, self.distrust) = (path, distrust) }

  /// The path of the running program, with links resolved.
  static func program() throws(SystemError) -> [UInt8] { try Directory.open("/proc/self").readLink("exe") }

  /// The homes of this user, without links, by the environment and by the system.
  static func homes() -> [[UInt8]] {
    [Environment.bytes("HOME"), CurrentProcess.homeDirectory].compactMap { home in
      home.flatMap { try? Directory.open($0).canonicalPath() }
    }.filter { $0.count > 1 }
  }
}
