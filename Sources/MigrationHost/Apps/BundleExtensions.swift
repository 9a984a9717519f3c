import MigrationWire

/// The extensions in a bundle: one for migration, or none, and perhaps others, which an edition of the app for another system
/// needs.
struct BundleExtensions {
  static let hint =
    "A bundle has at most one migration extension, in \"Extensions/NAME.appex\"; one of another kind names that in its Info.plist."

  /// The path within the bundle of the one that is for migration; nil if there is none.
  let migration: String?
  /// Those of the others, sorted.
  let others: [String]

  init(_ files: BundleFiles) throws(HostError) {
    let folders = try files.extensionFolders()
    var others: [String] = []
    // One that names no extension point is for migration, or what is wrong with it is told when it is read.
    for folder in folders {
      if Self.isOfOtherKind(try files.propertiesIfThere("\(folder)/Info.plist")) { others.append(folder) }
    }
    let rest = folders.filter { !others.contains($0) }
    guard rest.count <= 1 else {
      throw .bundle("Extensions", "there are \(rest.count) extensions for migration in it", hint: Self.hint)
    }
    migration = rest.first
    self.others = others
  }

  /// Whether an extension names another extension point; also by the key that older kinds of extensions have.
  private static func isOfOtherKind(_ info: BundleProperties?) -> Bool {
    let places = [
      ("EXAppExtensionAttributes", "EXExtensionPointIdentifier"), ("NSExtension", "NSExtensionPointIdentifier"),
    ]
    for (key, inner) in places {
      guard case .dictionary(let attributes)? = info?.values[key] else { continue }
      guard case .text(let point)? = attributes[inner] else { return false }
      return point != ExtensionPoint.identifier
    }
    return false
  }
}
