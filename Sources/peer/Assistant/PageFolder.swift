import MigrationEngine
import MigrationPage
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// The page's files, which only root and this user may change.
struct PageFolder: Sendable {
  /// The most bytes of a file.
  private static let longestFile = 1 << 20

  private let path: [UInt8]
  private let directory: SharedDirectory

  /// Opens the files of this program's installation or clone.
  static func open(
    _ shipped: ShippedFolder? = ShippedFolder("page", source: "Sources/Computer/MigrationPage/Page")
  ) throws(Failure) -> PageFolder {
    guard let shipped, FileContent.isDirectory(shipped.path) else {
      throw Failure(
        .failed, "the files of the page are not installed", hint: "Install peer again: they are in share/peer/page.")
    }
    if let distrust = shipped.distrust {
      throw Failure(
        .refused, "the files of the page in \(VisibleText.quoted(shipped.path)) are not used: \(distrust)",
        hint: "Install peer in ~/.local: Scripts/install --prefix ~/.local")
    }
    return try Trust.Distrust.mapped(PageFolder(shipped.path)) {
      Failure(
        .refused, "the files of the page are not used: \(VisibleText.quoted($0.path)) \($0.clause)",
        hint: "Install peer again, as root or as yourself.")
    }
  }

  /// Fails unless all files can be used.
  private init(_ path: [UInt8]) throws(Trust.Distrust) {
    let (above, name) = FileContent.split(path)
    self.path = path
    directory = SharedDirectory(try Trust().open(above, [name]))
    for file in Route.PageFile.allCases { _ = try content(of: file) }
  }

  /// The content of a file, as it is now.
  func content(of file: Route.PageFile) throws(Trust.Distrust) -> [UInt8] {
    let name = Array(file.rawValue.utf8)
    return try Trust().read(
      name, in: directory.directory, at: path + [UInt8(ascii: "/")] + name, limit: Self.longestFile)
  }
}
