import MigrationWire

/// A property list of a bundle, and its required values.
struct BundleProperties {
  /// The file's path within the bundle.
  let file: String
  let values: [String: PropertyList]

  /// An optional text.
  func text(_ key: String) throws(Failure) -> String? {
    switch values[key] {
    case nil: return nil
    case .text(let text):
      guard text.utf8.count <= Limits.identifier, !text.utf8.contains(0) else {
        throw fault(key, "it is longer than \(Limits.identifier) bytes, or contains a NUL")
      }
      return text
    default: throw fault(key, "it is not a string")
    }
  }

  /// A required text that is not empty.
  func requiredText(_ key: String) throws(Failure) -> String {
    guard let text = try text(key) else { throw fault(key, "it is missing") }
    guard !text.isEmpty else { throw fault(key, "it is empty") }
    return text
  }

  func identifier(_ key: String) throws(Failure) -> String {
    let text = try requiredText(key)
    guard AppName.isWellFormed(text) else {
      throw fault(key, "\(VisibleText.quoted(text)) is not an identifier", hint: "An identifier is \(AppName.rule).")
    }
    return text
  }

  /// An optional array.
  func array(_ key: String, hint: String? = nil) throws(Failure) -> [PropertyList]? {
    guard let value = values[key] else { return nil }
    guard case .array(let entries) = value else { throw fault(key, "it is not an array", hint: hint) }
    return entries
  }

  /// The groups in a list of entitlements, sorted; none if it has no such key.
  func groups(_ faults: Faults) throws(Failure) -> [String] {
    let key = ExtensionPoint.groupsEntitlement
    guard let entries = try faults.noting(array(key)) else { return [] }
    var groups: Set<String> = []
    for entry in entries {
      guard case .text(let group) = entry else {
        faults.note(fault(key, "it contains a value that is not a string"))
        continue
      }
      guard AppName.isWellFormed(group) else {
        faults.note(
          fault(
            key, "\(VisibleText.quoted(group)) is not a group identifier",
            hint: "A group identifier is \(AppName.rule)."))
        continue
      }
      groups.insert(group)
    }
    return groups.sorted()
  }

  /// Fails unless the extension may use the app's container, and no other.
  func checkAccess(to app: String) throws(Failure) {
    let key = ExtensionPoint.containerEntitlement
    let hint = "Its value must be an array of exactly the app's identifier, '\(app)'."
    guard let entries = try array(key, hint: hint) else { throw fault(key, "it is missing", hint: hint) }
    var identifiers: [String] = []
    for entry in entries {
      guard case .text(let text) = entry else {
        throw fault(key, "it contains a value that is not a string", hint: hint)
      }
      identifiers.append(text)
    }
    guard !ExtensionPoint.grants(identifiers, accessTo: app) else { return }
    guard identifiers.count == 1 else { throw fault(key, "it has \(identifiers.count) entries", hint: hint) }
    throw fault(key, "it names \(VisibleText.quoted(identifiers[0])), which is not the app", hint: hint)
  }

  /// Fails unless the extension is a migration extension.
  func checkExtensionPoint() throws(Failure) {
    let key = "EXAppExtensionAttributes"
    let inner = "\(key).EXExtensionPointIdentifier"
    let hint = "A migration extension has the value '\(ExtensionPoint.identifier)' there."
    guard let value = values[key] else { throw fault(key, "it is missing", hint: hint) }
    guard case .dictionary(let attributes) = value else { throw fault(key, "it is not a dictionary", hint: hint) }
    switch attributes["EXExtensionPointIdentifier"] {
    case nil: throw fault(inner, "it is missing", hint: hint)
    case .text(ExtensionPoint.identifier): return
    case .text(let other): throw fault(inner, "it names \(VisibleText.quoted(other))", hint: hint)
    default: throw fault(inner, "it is not a string", hint: hint)
    }
  }

  /// The editions whose data the app accepts as its own; none if there is no such key.
  func aliases(_ faults: Faults) throws(Failure) -> [AppBundle.Alias] {
    let key = "PeerAliases"
    guard let entries = try faults.noting(array(key)) else { return [] }
    var aliases: [AppBundle.Alias] = []
    for (index, entry) in entries.enumerated() {
      let place = "\(key)[\(index)]"
      guard case .dictionary(let values) = entry else {
        faults.note(fault(place, "it is not a dictionary"))
        continue
      }
      // Identifiers of other platforms have other forms.
      let properties = BundleProperties(file: file, values: values.prefixed(place))
      let store = try faults.noting(properties.text("\(place).StoreIdentifier") ?? "")
      let identifier = try faults.noting(properties.requiredText("\(place).BundleIdentifier"))
      let platform = try faults.noting(properties.requiredText("\(place).Platform"))
      guard let store, let identifier, let platform else { continue }
      aliases.append(AppBundle.Alias(store: store, bundleIdentifier: identifier, platform: platform))
    }
    return aliases
  }

  /// A fault of a key.
  func fault(_ key: String, _ reason: String, hint: String? = nil) -> Failure {
    .bundle(file, key: key, reason, hint: hint)
  }

  /// All faults of a bundle, in the order in which they were found. The rest of the bundle is read
  /// despite a fault.
  final class Faults {
    private(set) var all: [Failure] = []

    /// Records a fault.
    func note(_ fault: Failure) { all.append(fault) }

    /// Evaluates a part of the reading; nil if it finds a fault, which is recorded.
    @discardableResult
    func noting<Value>(_ body: @autoclosure () throws(Failure) -> Value?) throws(Failure) -> Value? {
      do {
        return try body()
      } catch {
        guard let fault = error.fault else { throw error }
        // A fault of a whole file counts once: a named pipe is not a property list, and also not
        // missing.
        if fault.key == nil, all.contains(where: { $0.fault?.key == nil && $0.fault?.file == fault.file }) {
          return nil
        }
        all.append(error)
        return nil
      }
    }
  }
}

extension [String: PropertyList] {
  /// The same values under the names that faults show.
  fileprivate func prefixed(_ place: String) -> [String: PropertyList] {
    Dictionary(uniqueKeysWithValues: map { ("\(place).\($0.key)", $0.value) })
  }
}

extension BundleFiles {
  static let extensionHint =
    "A bundle has at most one migration extension, in \"Extensions/NAME.appex\"; other extensions name their kind in Info.plist."

  /// The paths of the extensions in the bundle: of at most one for migration, and of the others,
  /// sorted, which an edition of the app for another system needs.
  func extensions() throws(Failure) -> (migration: String?, others: [String]) {
    let folders = try extensionFolders()
    var others: [String] = []
    // An extension without an extension point is for migration; its faults are reported when it is
    // read.
    for folder in folders {
      if Self.isOfOtherKind(try propertiesIfThere("\(folder)/Info.plist")) { others.append(folder) }
    }
    let rest = folders.filter { !others.contains($0) }
    guard rest.count <= 1 else {
      throw .bundle("Extensions", "it contains \(rest.count) migration extensions", hint: Self.extensionHint)
    }
    return (rest.first, others)
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

extension Failure {
  /// A bundle is unusable because of a file in it, or because of a key in that file.
  static func bundle(
    _ file: some Sequence<UInt8>, key: String? = nil, _ reason: String, hint: String? = nil
  ) -> Failure {
    let hint = hint ?? "'peer help app install' says how a bundle is made."
    let words = key.map { "\($0): \(reason)" } ?? reason
    return Failure(
      .unfitApp, "the bundle is invalid: \(VisibleText.quoted(file)): \(words)", hint: hint, name: Array(file),
      fault: BundleFault(file: Array(file), key: key, reason: reason, hint: hint))
  }

  static func bundle(_ file: String, key: String? = nil, _ reason: String, hint: String? = nil) -> Failure {
    .bundle(file.utf8, key: key, reason, hint: hint)
  }
}

/// The names with which an app's migration extension declares itself.
package enum ExtensionPoint {
  /// The extension point that a migration extension's property list must name.
  package static let identifier = "com.apple.app-migration"
  /// The entitlement that gives an extension its app's container: an array of exactly the app's
  /// bundle identifier.
  package static let containerEntitlement = "com.apple.developer.app-migration.data-container-access"
  /// The entitlement that lists the app's groups.
  package static let groupsEntitlement = "com.apple.security.application-groups"

  /// Whether the value of the first entitlement gives an extension of this app access to the app's
  /// container: only one value does.
  static func grants(_ entitlement: [String]?, accessTo bundleIdentifier: String) -> Bool {
    entitlement == [bundleIdentifier]
  }
}
