import MigrationWire

/// The entitlements with which a clip and its app name each other.
package enum ClipEntitlement {
  /// The clip's entitlement: an array of exactly its app.
  package static let parent = "com.apple.developer.parent-application-identifiers"
  /// The app's entitlement: an array of exactly its clip.
  package static let clip = "com.apple.developer.associated-appclip-app-identifiers"
  /// The property list of these entitlements.
  static let file = "Entitlements.plist"
}

extension BundleProperties {
  private static let rule = "A clip's identifier is its app's identifier, a dot, and further text."

  /// The role that these entitlements give a bundle with this identifier; nil for an identifier
  /// that is itself invalid.
  func role(of identifier: String?) throws(HostError) -> AppBundle.Role {
    let parent = try onlyIdentifier(ClipEntitlement.parent)
    let clip = try onlyIdentifier(ClipEntitlement.clip)
    guard let parent else {
      if let clip, let identifier, !Self.extends(clip, identifier) {
        throw relationFault(ClipEntitlement.clip, of: clip, "is not '\(identifier).' followed by more") { bare in
          Self.extends(bare, identifier)
        }
      }
      return .app(clip: clip)
    }
    guard clip == nil else {
      throw fault(
        ClipEntitlement.clip, "a clip has no clip of its own",
        hint: "A bundle has one of the two entitlements, or none.")
    }
    if let identifier, !Self.extends(identifier, parent) {
      throw relationFault(
        ClipEntitlement.parent, of: parent, "is not the beginning of the clip's own identifier, '\(identifier)'"
      ) { bare in Self.extends(identifier, bare) }
    }
    return .clip(of: parent)
  }

  /// The only identifier in the array of this key; nil if the list has no such key.
  private func onlyIdentifier(_ key: String) throws(HostError) -> String? {
    let hint = "Its value must be an array of exactly one identifier."
    guard let value = values[key] else { return nil }
    guard case .array(let entries) = value else { throw fault(key, "it is not an array", hint: hint) }
    guard entries.count == 1 else { throw fault(key, "it has \(entries.count) entries", hint: hint) }
    guard case .text(let text) = entries[0] else {
      throw fault(key, "it contains a value that is not a string", hint: hint)
    }
    guard !text.contains("$") else {
      throw fault(
        key, "\(VisibleText.quoted(text)) contains an unexpanded variable",
        hint: "Write the identifier itself, without a variable and without a team's prefix.")
    }
    guard AppName.isWellFormed(text) else {
      throw fault(key, "\(VisibleText.quoted(text)) is not an identifier", hint: "An identifier is \(AppName.rule).")
    }
    return text
  }

  /// The fault of an identifier that does not match the bundle's own, with the reason if it is
  /// recognisable.
  private func relationFault(
    _ key: String, of text: String, _ reason: String, unless fits: (String) -> Bool
  ) -> HostError {
    if let bare = Self.withoutTeam(text), fits(bare) {
      return fault(
        key, "\(VisibleText.quoted(text)) begins with a team's prefix", hint: "Leave the prefix out: '\(bare)'.")
    }
    return fault(key, "\(VisibleText.quoted(text)) \(reason)", hint: Self.rule)
  }

  /// Whether an identifier is another one, a dot, and further text.
  private static func extends(_ identifier: String, _ app: String) -> Bool {
    let beginning = Array("\(app).".utf8)
    return identifier.utf8.count > beginning.count && identifier.utf8.starts(with: beginning)
  }

  /// The text behind a team's prefix: ten capital letters or digits, and a dot.
  private static func withoutTeam(_ text: String) -> String? {
    let length = 10
    let bytes = Array(text.utf8)
    guard bytes.count > length + 1, bytes[length] == UInt8(ascii: ".") else { return nil }
    let isPrefix = bytes[..<length].allSatisfy { byte in
      AppName.isLetterOrDigit(byte) && !(UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
    }
    return isPrefix ? String(decoding: bytes[(length + 1)...], as: UTF8.self) : nil
  }
}

extension AppBundle {
  /// The noun for the bundle in a sentence.
  var noun: String {
    if case .clip = role { "clip" } else { "app" }
  }

  /// The extension that a migration needs. Fails for a clip, and for an app without a migration
  /// extension.
  package func extensionToMigrate() throws(HostError) -> Extension {
    if case .clip(let app) = role { throw .clipIsNotMigrated(identifier, app: app, isReplaced: false) }
    if let migrationExtension { return migrationExtension }
    let reason = "the app has no migration extension"
    let hint = "Install an edition of the app that has one; 'peer help app install' says where it is in the bundle."
    throw HostError(
      .bundle, "the data of \(identifier) cannot be migrated: 'Extensions': \(reason)", hint: hint,
      name: Array(identifier.utf8),
      fault: BundleFault(file: Array("Extensions".utf8), key: nil, reason: reason, hint: hint))
  }
}

extension HostError {
  /// A clip was named for a migration.
  static func clipIsNotMigrated(_ clip: String, app: String, isReplaced: Bool) -> HostError {
    let reason = "it is the clip of \(app), and only the full app's data is migrated"
    let hint =
      isReplaced ? "The full app has replaced it: name '\(app)'." : "Install the full app, '\(app)', and name that."
    return HostError(
      .bundle, "\(clip) cannot be migrated: '\(ClipEntitlement.file)': \(ClipEntitlement.parent): \(reason)",
      hint: hint, name: Array(clip.utf8),
      fault: BundleFault(
        file: Array(ClipEntitlement.file.utf8), key: ClipEntitlement.parent, reason: reason, hint: hint))
  }
}
