import MigrationWire

/// The entitlements by which a clip and its app name each other.
package enum ClipEntitlement {
  /// The clip's: an array of exactly its app.
  package static let parent = "com.apple.developer.parent-application-identifiers"
  /// The app's: an array of exactly its clip.
  package static let clip = "com.apple.developer.associated-appclip-app-identifiers"
  /// The list of entitlements that has them.
  static let file = "Entitlements.plist"
}

extension BundleProperties {
  private static let rule = "A clip's identifier is its app's, a dot, and more."

  /// What these entitlements make of the bundle that has this identifier; nil for an identifier that is at fault itself.
  func role(of identifier: String?) throws(HostError) -> AppBundle.Role {
    let parent = try onlyIdentifier(ClipEntitlement.parent)
    let clip = try onlyIdentifier(ClipEntitlement.clip)
    guard let parent else {
      if let clip, let identifier, !Self.extends(clip, identifier) {
        throw relationFault(ClipEntitlement.clip, of: clip, "is not '\(identifier).' and more") { bare in
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

  /// The one identifier that a list of entitlements may have there; nil where it has no such key.
  private func onlyIdentifier(_ key: String) throws(HostError) -> String? {
    let hint = "Its value must be an array of exactly one identifier."
    guard let value = values[key] else { return nil }
    guard case .array(let entries) = value else { throw fault(key, "it is not an array", hint: hint) }
    guard entries.count == 1 else { throw fault(key, "it has \(entries.count) entries", hint: hint) }
    guard case .text(let text) = entries[0] else {
      throw fault(key, "it holds something that is not a string", hint: hint)
    }
    guard !text.contains("$") else {
      throw fault(
        key, "\(VisibleText.quoted(text)) has a variable in it that was not expanded",
        hint: "Write the identifier itself, without a variable and without a team's prefix.")
    }
    guard AppName.isWellFormed(text) else {
      throw fault(key, "\(VisibleText.quoted(text)) is no identifier", hint: "An identifier is \(AppName.rule).")
    }
    return text
  }

  /// An identifier that does not go with the bundle's own, and why, if that can be seen.
  private func relationFault(
    _ key: String, of text: String, _ reason: String, unless fits: (String) -> Bool
  ) -> HostError {
    if let bare = Self.withoutTeam(text), fits(bare) {
      return fault(
        key, "\(VisibleText.quoted(text)) begins with a team's prefix", hint: "Leave the prefix out: '\(bare)'.")
    }
    return fault(key, "\(VisibleText.quoted(text)) \(reason)", hint: Self.rule)
  }

  /// Whether an identifier is another one, a dot, and more.
  private static func extends(_ identifier: String, _ app: String) -> Bool {
    let beginning = Array("\(app).".utf8)
    return identifier.utf8.count > beginning.count && identifier.utf8.starts(with: beginning)
  }

  /// What stands behind a team's prefix: ten capital letters or digits, and a dot.
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
  /// What a bundle is called in a sentence.
  var noun: String {
    if case .clip = role { "clip" } else { "app" }
  }

  /// The extension that a migration needs. Fails for a clip, and for an app that has none.
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
  /// A clip was to be migrated.
  static func clipIsNotMigrated(_ clip: String, app: String, isReplaced: Bool) -> HostError {
    let reason = "it is the clip of \(app), and only the full app's data is migrated"
    let hint =
      isReplaced ? "The full app has taken its place: name '\(app)'." : "Install the full app, '\(app)', and name that."
    return HostError(
      .bundle, "\(clip) cannot be migrated: '\(ClipEntitlement.file)': \(ClipEntitlement.parent): \(reason)",
      hint: hint, name: Array(clip.utf8),
      fault: BundleFault(
        file: Array(ClipEntitlement.file.utf8), key: ClipEntitlement.parent, reason: reason, hint: hint))
  }
}
