import MigrationSystem
package import MigrationWire

/// The description of an app in its bundle, read and checked.
package struct AppBundle: Equatable, Sendable {
  /// Another edition of the same app, whose data this edition accepts.
  package struct Alias: Hashable, Sendable {
    package let store: String
    package let bundleIdentifier: String
    package let platform: String
  }

  /// The role of the bundle, with the other edition of a hand-over on one device.
  package enum Role: Equatable, Sendable {
    /// An app, with its clip if it names one.
    case app(clip: String?)
    /// The clip of the app that it names.
    case clip(of: String)
  }

  /// The app's migration extension.
  package struct Extension: Equatable, Sendable {
    package let identifier: String
    /// The path of its program.
    package let executable: [UInt8]
    /// The groups that its entitlements list, sorted.
    package let groups: [String]
  }

  /// The path of the bundle.
  package let path: [UInt8]
  package let identifier: String
  package let role: Role
  /// CFBundleShortVersionString; any text.
  package let version: String
  /// The store that the app came from (default: the usual store of its platform, or empty if there
  /// is none).
  package let store: String
  /// The app's name for people.
  package let displayName: String?
  /// The path of the app's program.
  package let executable: [UInt8]
  /// The groups that the app's entitlements list, sorted.
  package let groups: [String]
  package let aliases: [Alias]
  /// The platform of this edition, if the bundle names one: the origin that its data claims.
  package let platform: String?
  /// The bundle's extensions of other kinds, by their paths in it, sorted. A migration does not use
  /// them.
  package let otherExtensions: [String]
  /// Nil for a clip, and for an app whose data cannot be migrated.
  package let migrationExtension: Extension?

  /// The groups of the app and of its extension.
  package var allGroups: [String] { Set(groups + (migrationExtension?.groups ?? [])).sorted() }

  /// The groups that only one of the two lists, the app or its extension, each with the path in the
  /// bundle of the entitlements that list it.
  package var unsharedGroups: [(group: String, isOfApp: Bool, file: [UInt8])] {
    guard let others = migrationExtension?.groups else { return [] }
    return Set(groups).symmetricDifference(others).sorted().map { ($0, groups.contains($0), file(listing: $0)) }
  }

  /// The path in the bundle of the entitlements that list a group.
  func file(listing group: String) -> [UInt8] {
    let file = Array("Entitlements.plist".utf8)
    guard !groups.contains(group), let program = migrationExtension?.executable else { return file }
    let folder = program.dropFirst(path.count + 1)
    return Array(folder[..<(folder.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? folder.startIndex)]) + file
  }

  /// The noun for the bundle in a sentence.
  var noun: String {
    if case .clip = role { "clip" } else { "app" }
  }

  /// The extension that a migration needs. Fails for a clip, and for an app without a migration
  /// extension.
  package func extensionToMigrate() throws(Failure) -> Extension {
    if case .clip(let app) = role { throw .clipIsNotMigrated(identifier, app: app, isReplaced: false) }
    if let migrationExtension { return migrationExtension }
    let reason = "the app has no migration extension"
    let hint = "Install an edition of the app that has one; 'peer help app install' says where it is in the bundle."
    throw Failure(
      .unfitApp, "the data of \(identifier) cannot be migrated: 'Extensions': \(reason)", hint: hint,
      name: Array(identifier.utf8),
      fault: BundleFault(file: Array("Extensions".utf8), key: nil, reason: reason, hint: hint))
  }
}

extension AppBundle {
  /// Reads a bundle, and refuses one that violates docs/Apps.md, with the file, the key and the
  /// reason.
  package init(reading path: [UInt8]) throws(Failure) {
    let faults = BundleProperties.Faults()
    let bundle = try Self.read(path, faults)
    guard let bundle, faults.all.isEmpty else { throw Self.first(of: faults) }
    self = bundle
  }

  /// Reads a bundle, and finds all its faults. Returns a bundle if there are none.
  package static func examine(_ path: [UInt8]) throws(Failure) -> (bundle: AppBundle?, faults: [BundleFault]) {
    let faults = BundleProperties.Faults()
    let bundle = try read(path, faults)
    return (faults.all.isEmpty ? bundle : nil, faults.all.compactMap(\.fault))
  }

  /// Reads a bundle that was found valid before, without examining each file in it.
  init(installedAt path: [UInt8]) throws(Failure) {
    let faults = BundleProperties.Faults()
    let bundle = try AppBundle(try BundleFiles(path), faults)
    guard let bundle, faults.all.isEmpty else { throw Self.first(of: faults) }
    self = bundle
  }

  private static func read(_ path: [UInt8], _ faults: BundleProperties.Faults) throws(Failure) -> AppBundle? {
    let files = try BundleFiles(path)
    try files.check(faults)
    return try AppBundle(files, faults)
  }

  private static func first(of faults: BundleProperties.Faults) -> Failure {
    guard let first = faults.all.first else { preconditionFailure("an unreadable bundle has a fault") }
    return first
  }

  /// Nil if the faults prevent the use of the bundle.
  private init?(_ files: BundleFiles, _ faults: BundleProperties.Faults) throws(Failure) {
    let info = try faults.noting(files.properties("Info.plist"))
    let identifier = try faults.noting(info?.identifier("CFBundleIdentifier"))
    let version = try faults.noting(info?.requiredText("CFBundleShortVersionString"))
    let platform = try faults.noting(info?.text("PeerPlatform"))
    let store = try faults.noting(info?.text("PeerStoreIdentifier"))
    let displayName = try faults.noting(info?.text("CFBundleDisplayName"))
    let executable = try faults.noting(files.executable(info, in: ""))
    let aliases = try info?.aliases(faults) ?? []
    let entitlements = try faults.noting(files.propertiesIfThere("Entitlements.plist"))
    let groups = try entitlements?.groups(faults) ?? []
    let role = try faults.noting(entitlements?.role(of: identifier))
    if case .clip? = role {
      try Self.checkClip(info, files, faults)
    }
    let extensions = try faults.noting(files.extensions())
    var migrationExtension: Extension?
    if let folder = extensions?.migration {
      migrationExtension = try Self.readExtension(files, in: folder, of: identifier, faults)
    }
    guard let identifier, let version, let executable, let extensions else { return nil }
    path = files.path
    self.identifier = identifier
    self.role = role ?? .app(clip: nil)
    self.version = version
    self.platform = platform.flatMap { $0.isEmpty ? nil : $0 }
    self.store = store ?? self.platform.map(SourceClaim.usualStore) ?? ""
    self.displayName = displayName.flatMap { $0.isEmpty ? nil : $0 }
    self.executable = path + [UInt8(ascii: "/")] + executable
    self.aliases = aliases
    self.groups = groups
    otherExtensions = extensions.others
    self.migrationExtension = migrationExtension
  }

  /// Records the entries that a clip cannot have.
  private static func checkClip(
    _ info: BundleProperties?, _ files: BundleFiles, _ faults: BundleProperties.Faults
  ) throws(Failure) {
    if let info, info.values["PeerAliases"] != nil {
      faults.note(
        info.fault("PeerAliases", "a clip has none, since its data is not migrated", hint: "Leave the key out."))
    }
    let folders = try faults.noting(files.extensionFolders()) ?? []
    for folder in folders {
      faults.note(
        .bundle(
          folder, "a clip has no extension", hint: "Take it out of the bundle: the full app has the extensions."))
    }
  }

  private static func readExtension(
    _ files: BundleFiles, in folder: String, of app: String?, _ faults: BundleProperties.Faults
  ) throws(Failure) -> Extension? {
    let info = try faults.noting(files.properties("\(folder)/Info.plist"))
    let identifier = try faults.noting(info?.identifier("CFBundleIdentifier"))
    try faults.noting(info?.checkExtensionPoint())
    let executable = try faults.noting(files.executable(info, in: "\(folder)/"))
    let entitlements = try faults.noting(files.properties("\(folder)/Entitlements.plist"))
    if let app { try faults.noting(entitlements?.checkAccess(to: app)) }
    let groups = try entitlements?.groups(faults) ?? []
    guard let identifier, let executable else { return nil }
    return Extension(
      identifier: identifier, executable: files.path + [UInt8(ascii: "/")] + executable, groups: groups)
  }
}

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
  func role(of identifier: String?) throws(Failure) -> AppBundle.Role {
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
  private func onlyIdentifier(_ key: String) throws(Failure) -> String? {
    let hint = "Its value must be an array of exactly one identifier."
    guard let entries = try array(key, hint: hint) else { return nil }
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
  ) -> Failure {
    if let bare = Self.withoutTeam(text), fits(bare) {
      return fault(
        key, "\(VisibleText.quoted(text)) begins with a team's prefix", hint: "Leave the prefix out: '\(bare)'.")
    }
    return fault(key, "\(VisibleText.quoted(text)) \(reason)", hint: Self.rule)
  }

  /// Whether an identifier is an app's identifier, a dot, and further text.
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
      byte.isLetterOrDigit && !(UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
    }
    return isPrefix ? String(decoding: bytes[(length + 1)...], as: UTF8.self) : nil
  }
}

extension Failure {
  /// A clip was named for a migration.
  static func clipIsNotMigrated(_ clip: String, app: String, isReplaced: Bool) -> Failure {
    let reason = "it is the clip of \(app), and only the full app's data is migrated"
    let hint =
      isReplaced ? "The full app has replaced it: name '\(app)'." : "Install the full app, '\(app)', and name that."
    return Failure(
      .unfitApp, "\(clip) cannot be migrated: '\(ClipEntitlement.file)': \(ClipEntitlement.parent): \(reason)",
      hint: hint, name: Array(clip.utf8),
      fault: BundleFault(
        file: Array(ClipEntitlement.file.utf8), key: ClipEntitlement.parent, reason: reason, hint: hint))
  }
}
