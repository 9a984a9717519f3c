/// The owners of a group since a clip that lists it was installed: only the clip and its app. The
/// record is a file next to the group's directory, `groups/.GROUP.owner`; no group has such a name,
/// and a temporary file of such a record has another name.
struct GroupOwner: Equatable, Sendable {
  let app: String
  let clip: String

  init(app: String, clip: String) {
    self.app = app
    self.clip = clip
  }

  /// Parses the result of `encoded`; nil for any other text.
  init?(_ bytes: [UInt8]) {
    let words = String(decoding: bytes, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 2, words[1].hasSuffix("\n") else { return nil }
    (app, clip) = (String(words[0]), String(words[1].dropLast()))
    guard AppName.isWellFormed(app), AppName.isWellFormed(clip) else { return nil }
  }

  var encoded: [UInt8] { Array("\(app) \(clip)\n".utf8) }

  /// Whether a bundle is one of the two.
  func admits(_ bundle: AppBundle) -> Bool {
    switch bundle.role {
    case .app: bundle.identifier == app
    case .clip(let parent): bundle.identifier == clip && parent == app
    }
  }

  /// The most bytes that are read of a record.
  static let longest = 1 << 10
  private static let suffix = ".owner"

  /// The record of a group, as a place in PEER_HOME.
  static func place(of group: String) -> String { AppHome.Folder.groups.place(".\(group)\(suffix)") }

  /// The group whose record has this name; nil for other names.
  static func group(_ name: String) -> String? {
    guard name.hasPrefix("."), name.hasSuffix(suffix) else { return nil }
    let group = String(name.dropFirst().dropLast(suffix.count))
    return AppName.isWellFormed(group) ? group : nil
  }
}
