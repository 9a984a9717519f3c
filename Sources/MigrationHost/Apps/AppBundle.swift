/// What an app's bundle says of the app: read, and found to be in order.
package struct AppBundle: Equatable, Sendable {
  /// Another edition of the same app, whose data this one accepts.
  package struct Alias: Hashable, Sendable {
    package let store: String
    package let bundleIdentifier: String
    package let platform: String
  }

  /// What the bundle is, with the other half of a hand-over on one device.
  package enum Role: Equatable, Sendable {
    /// An app, and the clip that it names, if it names one.
    case app(clip: String?)
    /// The clip of an app that it names.
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

  /// Where the bundle is.
  package let path: [UInt8]
  package let identifier: String
  package let role: Role
  /// CFBundleShortVersionString; any text.
  package let version: String
  /// Which store the app came from; where the bundle names none, the usual one of its platform, and empty if that has none.
  package let store: String
  /// What people call the app.
  package let displayName: String?
  /// The path of the app's program.
  package let executable: [UInt8]
  /// The groups that the app's entitlements list, sorted.
  package let groups: [String]
  package let aliases: [Alias]
  /// The platform that this edition was made for, where the bundle names one: what its data is said to be from.
  package let platform: String?
  /// The extensions of other kinds in the bundle, by their paths within it, sorted. They have no part in a migration.
  package let otherExtensions: [String]
  /// Nil for a clip, and for an app whose data cannot be migrated.
  package let migrationExtension: Extension?

  /// The groups of the app and of its extension.
  package var allGroups: [String] { Set(groups + (migrationExtension?.groups ?? [])).sorted() }

  /// The path within the bundle of the list of entitlements that has a group of it.
  func file(listing group: String) -> [UInt8] {
    let file = Array("Entitlements.plist".utf8)
    guard !groups.contains(group), let program = migrationExtension?.executable else { return file }
    let folder = program.dropFirst(path.count + 1)
    return Array(folder[..<(folder.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? folder.startIndex)]) + file
  }
}
