import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire

/// A file of a new app.
struct NewAppFile: Equatable, Sendable {
  /// Its path within the package: names of letters, digits, dots and hyphens.
  let path: String
  let text: String
  /// Whether it is a script.
  var isExecutable = false
}

extension NewAppFile {
  /// The files of the example in Examples/NewApp, which are copied with other names.
  private static let paths = [
    "gitignore", "Bundle/Entitlements.plist", "Bundle/Extensions/NewAppMigration.appex/Entitlements.plist",
    "Bundle/Extensions/NewAppMigration.appex/Info.plist", "Bundle/Info.plist", "Package.swift", "README.md",
    "Sources/NewAppApp/NewAppApp.swift", "Sources/NewAppData/Notes.swift", "Sources/NewAppData/Settings.swift",
    "Sources/NewAppMigration/NewAppMigration.swift", "Tests/NewAppMigrationTests/NewAppMigrationTests.swift", "bundle",
  ]
  private static let longest = 1 << 20

  /// Every file of a new app.
  ///
  /// - Parameters:
  ///   - kit: the folder with the sources of AppMigrationKit for its extension.
  ///   - source: the folder with the example; nil for `kit`.
  static func all(_ names: NewAppNames, kit: String, from source: String? = nil) throws(Failure) -> [NewAppFile] {
    do throws(SystemError) {
      let example = try Directory.open(Array("\(source ?? kit)/Examples/NewApp".utf8))
      var files: [NewAppFile] = []
      for path in paths {
        let content = try example.openBeneath(path).readAll(limit: longest)
        files.append(
          NewAppFile(
            // No package may contain a file that git reads.
            path: path == "gitignore" ? ".gitignore" : path.replacing("NewApp", with: names.base),
            text: filled(String(decoding: content, as: UTF8.self), names, kit: kit), isExecutable: path == "bundle"))
      }
      return files
    } catch {
      throw Failure(error)
    }
  }

  /// The text of the example with the names of the app. No name contains what is replaced after it.
  static func filled(_ example: String, _ names: NewAppNames, kit: String) -> String {
    let text = example.replacing("NewApp", with: names.base)
      .replacing("org.example.new-app", with: names.identifier).replacing("New App", with: xml(names.title))
      .replacing("PEER_PACKAGE\"] ?? \"../..\"", with: "PEER_PACKAGE\"] ?? \(literal(kit))")
    // Imports are sorted as swift-format sorts them.
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let imports = lines.indices.filter { lines[$0].hasPrefix("import ") }
    for (index, line) in zip(imports, imports.map { lines[$0] }.sorted()) { lines[index] = line }
    return lines.joined(separator: "\n")
  }

  /// The string literal of a text in Swift's source code.
  static func literal(_ text: String) -> String {
    var literal = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": literal += "\\\(scalar)"
      case _ where VisibleText.isUnsafe(scalar): literal += "\\u{\(String(scalar.value, radix: 16))}"
      default: literal.unicodeScalars.append(scalar)
      }
    }
    return literal + "\""
  }

  /// A text between two tags of XML.
  static func xml(_ text: String) -> String {
    // This works on scalars: a combining mark after one of these characters makes another character
    // of it.
    text.unicodeScalars.map { scalar in
      switch scalar {
      case "&": "&amp;"
      case "<": "&lt;"
      case ">": "&gt;"
      default: String(scalar)
      }
    }.joined()
  }
}
