import MigrationArchive
import MigrationEngine
import MigrationHost
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
}

extension NewAppOptions {
  /// Parses the words after `peer app new`.
  init(_ arguments: Arguments) throws(Failure) {
    let directory = try arguments.operand(
      .appNew, "folder", hint: "Name a new or an empty folder.")
    let identifier = try arguments.text("--id")
    if let identifier, !NewAppNames.isFit(identifier) {
      throw .usage(
        "--id: \(VisibleText.quoted(identifier)) is not a valid identifier for an app",
        hint: "An identifier is \(NewAppNames.rule).")
    }
    self.init(directory: directory, identifier: identifier, package: arguments.bytes("--package"))
  }
}

/// `peer app new`: the package of a new app.
extension NewAppOptions {
  /// Creates the package, and tells the next steps.
  func make(json: Bool) throws(Failure) -> Rendering {
    let program = try Failure.wrapping(ShippedFolder.program())
    let kit = try KitSources.find(self.package, program: program)
    let folder = try NewAppFolder.open(directory)
    try KitSources.check(kit, for: folder.folderName)
    let names = NewAppNames(folder: folder.folderName, identifier: identifier)
    try folder.write(try NewAppFile.all(names, kit: kit))
    return json
      ? Self.line(names, at: folder.path, kit: kit) : Self.text(names, at: folder.path, typed: directory)
  }

  private static func line(_ names: NewAppNames, at path: [UInt8], kit: String) -> Rendering {
    .event("created", ["id": names.identifier, "path": FileName(path), "bundle": names.bundle, "package": kit])
  }

  private static func text(_ names: NewAppNames, at path: [UInt8], typed: [UInt8]) -> Rendering {
    // A name that begins with a dash would be taken for an option.
    let place = VisibleText.listed(typed.first == UInt8(ascii: "-") ? Array("./".utf8) + typed : typed)
    let entering = typed == Array(".".utf8) ? "" : "    cd \(place)\n"
    let note = names.note.map { "peer: note: \($0)\n" } ?? ""
    return Rendering(
      standardError: note + """
        Created the app \(names.identifier) in \(VisibleText.quoted(path)). The next commands:
        \(entering)    swift test
            ./bundle --debug
            peer app install \(names.bundle)
            peer app run \(names.identifier) add "buy milk"
            peer app check \(names.bundle)
            peer app migrate \(names.identifier) --to \(names.bundle)

        """)
  }
}

/// The names of a new app's parts, derived from the name of its folder.
///
/// A module's name is the folder's name and a fixed word: so it is never a keyword of Swift or the
/// name of a module of the toolchain.
struct NewAppNames: Equatable, Sendable {
  /// The length to which a folder's name is cut: lines of code contain it.
  private static let longest = 32
  /// The end of the extension's identifier, after the app's identifier.
  private static let extensionSuffix = ".migration"
  /// The name for a folder whose name contains nothing that a module's name can contain.
  private static let substitute = "MyApp"

  /// The folder's name in the form of a type's name: `MyNotes` for "my notes".
  let base: String
  /// The app's title for people.
  let title: String
  /// The app's identifier.
  let identifier: String

  /// The names for a folder's name and a checked identifier.
  init(folder: [UInt8], identifier: String? = nil) {
    let text = String(validating: folder, as: UTF8.self)
    let words = Self.words(text ?? "")
    let joined = String(words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined().prefix(Self.longest))
    base = joined.isEmpty ? Self.substitute : joined.first?.isNumber == true ? "App\(joined)" : joined
    let isShowable = text?.unicodeScalars.allSatisfy { !VisibleText.isUnsafe($0) } == true
    title = isShowable ? text ?? base : base
    let name = words.joined(separator: "-").lowercased().prefix(Self.longest)
    self.identifier = identifier ?? "org.example.\(name.isEmpty ? "my-app" : name)"
  }

  /// A note on letters of the folder's name that the names in the code lack; nil if there are none.
  var note: String? {
    guard title.unicodeScalars.contains(where: { $0.properties.isAlphabetic && !$0.isASCII }) else { return nil }
    return "modules have names of ASCII letters and digits, so those of \(VisibleText.quoted(title)) begin with "
      + "'\(base)', and its identifier is \(identifier): another name of the folder, or --id, chooses others"
  }

  /// The words of a name, with only letters and digits that every tool accepts.
  private static func words(_ text: String) -> [String] {
    let scalars = text.unicodeScalars.filter { !($0.properties.isAlphabetic && !$0.isASCII) }
    return scalars.split { !UInt8(truncatingIfNeeded: $0.value).isLetterOrDigit || !$0.isASCII }
      .map { String(String.UnicodeScalarView($0)) }
  }

  /// The bundle's path within the package.
  var bundle: String { "build/\(base).app" }

  /// Whether an app may have this identifier, and its extension the derived one.
  static func isFit(_ identifier: String) -> Bool {
    AppName.isWellFormed(identifier) && AppName.isWellFormed(extensionIdentifier(of: identifier))
  }

  /// The rule for identifiers, as the end of a sentence after "is"; the extension's identifier has
  /// to obey it too.
  static let rule =
    "\(AppName.rule); of a new app at most \(AppName.longest - extensionSuffix.utf8.count), since its extension's is longer"

  private static func extensionIdentifier(of identifier: String) -> String { identifier + extensionSuffix }
}
