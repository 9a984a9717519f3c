import MigrationWire

/// A property list of a bundle, and its required values.
struct BundleProperties {
  /// The file's path within the bundle.
  let file: String
  let values: [String: PropertyList]

  /// An optional text.
  func text(_ key: String) throws(HostError) -> String? {
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
  func requiredText(_ key: String) throws(HostError) -> String {
    guard let text = try text(key) else { throw fault(key, "it is missing") }
    guard !text.isEmpty else { throw fault(key, "it is empty") }
    return text
  }

  func identifier(_ key: String) throws(HostError) -> String {
    let text = try requiredText(key)
    guard AppName.isWellFormed(text) else {
      throw fault(key, "\(VisibleText.quoted(text)) is not an identifier", hint: "An identifier is \(AppName.rule).")
    }
    return text
  }

  /// The groups in a list of entitlements, sorted; none if it has no such key.
  func groups(_ faults: BundleFaults) throws(HostError) -> [String] {
    let key = ExtensionPoint.groupsEntitlement
    guard let value = values[key] else { return [] }
    guard case .array(let entries) = value else {
      faults.note(fault(key, "it is not an array"))
      return []
    }
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
  func checkAccess(to app: String) throws(HostError) {
    let key = ExtensionPoint.containerEntitlement
    let hint = "Its value must be an array of exactly the app's identifier, '\(app)'."
    guard let value = values[key] else { throw fault(key, "it is missing", hint: hint) }
    guard case .array(let entries) = value else { throw fault(key, "it is not an array", hint: hint) }
    var identifiers: [String] = []
    for entry in entries {
      guard case .text(let text) = entry else {
        throw fault(key, "it contains a value that is not a string", hint: hint)
      }
      identifiers.append(text)
    }
    guard !ContainerAccess.isGranted(identifiers, to: app) else { return }
    guard identifiers.count == 1 else { throw fault(key, "it has \(identifiers.count) entries", hint: hint) }
    throw fault(key, "it names \(VisibleText.quoted(identifiers[0])), which is not the app", hint: hint)
  }

  /// Fails unless the extension is a migration extension.
  func checkExtensionPoint() throws(HostError) {
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
  func aliases(_ faults: BundleFaults) throws(HostError) -> [AppBundle.Alias] {
    let key = "PeerAliases"
    guard let value = values[key] else { return [] }
    guard case .array(let entries) = value else {
      faults.note(fault(key, "it is not an array"))
      return []
    }
    var aliases: [AppBundle.Alias] = []
    for (index, entry) in entries.enumerated() {
      let place = "\(key)[\(index)]"
      guard case .dictionary(let values) = entry else {
        faults.note(fault(place, "it is not a dictionary"))
        continue
      }
      // Identifiers of other platforms have other forms.
      let properties = BundleProperties(file: file, values: values.prefixed(place))
      let store = try faults.noting { () throws(HostError) in try properties.text("\(place).StoreIdentifier") ?? "" }
      let identifier = try faults.noting { () throws(HostError) in
        try properties.requiredText("\(place).BundleIdentifier")
      }
      let platform = try faults.noting { () throws(HostError) in try properties.requiredText("\(place).Platform") }
      guard let store, let identifier, let platform else { continue }
      aliases.append(AppBundle.Alias(store: store, bundleIdentifier: identifier, platform: platform))
    }
    return aliases
  }

  /// A fault of a key.
  func fault(_ key: String, _ reason: String, hint: String? = nil) -> HostError {
    .bundle(file, key: key, reason, hint: hint)
  }
}

extension [String: PropertyList] {
  /// The same values under the names that faults show.
  fileprivate func prefixed(_ place: String) -> [String: PropertyList] {
    Dictionary(uniqueKeysWithValues: map { ("\(place).\($0.key)", $0.value) })
  }
}
