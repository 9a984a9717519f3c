import MigrationHost
import MigrationWire

/// What the parts of a new app are called, after the folder that it is made in.
///
/// A module has a word of ours behind the folder's name: so no module is called like a keyword of Swift, or like one of the
/// toolchain's, whatever the folder is called.
struct NewAppNames: Equatable, Sendable {
  /// How much of a folder's name is taken: lines of code have names in them.
  private static let longest = 32
  /// What stands behind the app's identifier in that of its extension.
  private static let extensionSuffix = ".migration"
  /// What stands in the place of a name in which nothing can be part of a module's.
  private static let substitute = "MyApp"

  /// The folder's name, as the name of a type: `MyNotes` for "my notes".
  let base: String
  /// What people call the app.
  let title: String
  /// The app's identifier.
  let identifier: String

  /// The names for a folder of this name, and an identifier that was checked.
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

  /// The words of a name, of letters and digits that every tool knows.
  private static func words(_ text: String) -> [String] {
    let scalars = text.unicodeScalars.filter { !($0.properties.isAlphabetic && !$0.isASCII) }
    return scalars.split { !AppName.isLetterOrDigit(UInt8(truncatingIfNeeded: $0.value)) || !$0.isASCII }
      .map { String(String.UnicodeScalarView($0)) }
  }

  /// The package, and the bundle.
  var package: String { base }
  /// The app's program.
  var app: String { "\(base)App" }
  /// What the app and its extension share.
  var data: String { "\(base)Data" }
  /// The extension's program.
  var migration: String { "\(base)Migration" }
  /// The extension's tests.
  var tests: String { "\(base)MigrationTests" }
  /// The extension's identifier.
  var extensionIdentifier: String { Self.extensionIdentifier(of: identifier) }
  /// Where the script puts the bundle, within the package.
  var bundle: String { "build/\(base).app" }

  /// Whether an app may have this identifier, and its extension the one that is made of it.
  static func isFit(_ identifier: String) -> Bool {
    AppName.isWellFormed(identifier) && AppName.isWellFormed(extensionIdentifier(of: identifier))
  }

  /// The rule for identifiers, to follow "is"; the extension's has to fit too.
  static let rule =
    "\(AppName.rule); of a new app at most \(AppName.longest - extensionSuffix.utf8.count), since its extension's is longer"

  private static func extensionIdentifier(of identifier: String) -> String { identifier + extensionSuffix }
}
