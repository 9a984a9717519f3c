import MigrationHost
import MigrationWire

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

  /// The words of a name, with only letters and digits that every tool accepts.
  private static func words(_ text: String) -> [String] {
    let scalars = text.unicodeScalars.filter { !($0.properties.isAlphabetic && !$0.isASCII) }
    return scalars.split { !AppName.isLetterOrDigit(UInt8(truncatingIfNeeded: $0.value)) || !$0.isASCII }
      .map { String(String.UnicodeScalarView($0)) }
  }

  /// The package, and the bundle.
  var package: String { base }
  /// The app's program.
  var app: String { "\(base)App" }
  /// The shared module of the app and its extension.
  var data: String { "\(base)Data" }
  /// The extension's program.
  var migration: String { "\(base)Migration" }
  /// The extension's tests.
  var tests: String { "\(base)MigrationTests" }
  /// The extension's identifier.
  var extensionIdentifier: String { Self.extensionIdentifier(of: identifier) }
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
