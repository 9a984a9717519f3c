import MigrationWire

/// The extensions in a bundle: at most one for migration, and possibly others, which an edition of
/// the app for another system needs.
struct BundleExtensions {
  static let hint =
    "A bundle has at most one migration extension, in \"Extensions/NAME.appex\"; other extensions name their kind in Info.plist."

  /// The path in the bundle of the migration extension; nil if there is none.
  let migration: String?
  /// The paths of the other extensions, sorted.
  let others: [String]

  init(_ files: BundleFiles) throws(HostError) {
    let folders = try files.extensionFolders()
    var others: [String] = []
    // An extension without an extension point is for migration; its faults are reported when it is
    // read.
    for folder in folders {
      if Self.isOfOtherKind(try files.propertiesIfThere("\(folder)/Info.plist")) { others.append(folder) }
    }
    let rest = folders.filter { !others.contains($0) }
    guard rest.count <= 1 else {
      throw .bundle("Extensions", "it contains \(rest.count) migration extensions", hint: Self.hint)
    }
    migration = rest.first
    self.others = others
  }

  /// Whether an extension names another extension point, also with the key of older kinds of
  /// extensions.
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
