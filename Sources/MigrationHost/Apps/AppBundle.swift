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

  /// The path in the bundle of the entitlements that list a group.
  func file(listing group: String) -> [UInt8] {
    let file = Array("Entitlements.plist".utf8)
    guard !groups.contains(group), let program = migrationExtension?.executable else { return file }
    let folder = program.dropFirst(path.count + 1)
    return Array(folder[..<(folder.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? folder.startIndex)]) + file
  }
}
