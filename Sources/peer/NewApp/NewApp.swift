import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// The options of `peer app new`.
struct NewAppOptions: Equatable, Sendable {
  /// The folder, which is empty or does not exist.
  var directory: [UInt8]
  /// The app's identifier; nil to derive it from the folder's name.
  var identifier: String?
  /// The folder of the package with AppMigrationKit; nil for the folder that belongs to this
  /// program.
  var package: [UInt8]?
  /// Whether a program reads the output.
  var json = false
}

extension NewAppOptions {
  /// Parses the words after `peer app new`.
  init(_ arguments: Arguments) throws(TransferFailure) {
    let directory = try arguments.operand(
      .appNew, "folder", hint: "name a new or an empty folder")
    let identifier = try arguments.text("--id")
    if let identifier, !NewAppNames.isFit(identifier) {
      throw .usage(
        "--id: \(VisibleText.quoted(identifier)) is not a valid identifier for an app",
        hint: "an identifier is \(NewAppNames.rule)")
    }
    self.init(
      directory: directory, identifier: identifier, package: arguments.bytes("--package"),
      json: arguments.has("--json"))
  }
}

/// `peer app new`: the package of a new app.
enum NewApp {
  /// Creates the package, and tells the next steps.
  static func make(_ options: NewAppOptions) throws(TransferFailure) -> Rendering {
    let kit = try KitSources.find(options.package, program: try program())
    let folder = try NewAppFolder.open(options.directory)
    try KitSources.check(kit, for: folder.folderName)
    let names = NewAppNames(folder: folder.folderName, identifier: options.identifier)
    try folder.write(NewAppFile.all(names, kit: kit))
    return options.json
      ? line(names, at: folder.path, kit: kit) : text(names, at: folder.path, typed: options.directory)
  }

  /// The path of the running program, with links resolved.
  private static func program() throws(TransferFailure) -> [UInt8] {
    do throws(SystemError) {
      return try Directory.open("/proc/self").readLink("exe")
    } catch {
      throw TransferFailure(.failed, "\(error)")
    }
  }

  private static func line(_ names: NewAppNames, at path: [UInt8], kit: String) -> Rendering {
    .event("created", ["id": names.identifier, "path": FileName(path), "bundle": names.bundle, "package": kit])
  }

  private static func text(_ names: NewAppNames, at path: [UInt8], typed: [UInt8]) -> Rendering {
    // A name that begins with a dash would be taken for an option.
    let place = VisibleText.listed(typed.first == UInt8(ascii: "-") ? Array("./".utf8) + typed : typed)
    let entering = typed == Array(".".utf8) ? "" : "    cd \(place)\n"
    return Rendering(
      standardError: """
        Created the app \(names.identifier) in \(VisibleText.quoted(path)). The next commands:
        \(entering)    swift test
            ./bundle
            peer app install \(names.bundle)
            peer app run \(names.identifier) add "buy milk"
            peer app check \(names.bundle)
            peer app migrate \(names.identifier) --to \(names.bundle)

        """)
  }
}
