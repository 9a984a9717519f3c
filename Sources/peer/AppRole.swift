import MigrationHost
import MigrationWire

extension AppBundle {
  /// What its author, and the person who installs it, should know of what is in it; lower-case clauses.
  var notes: [String] {
    var notes = otherExtensions.map { "\(VisibleText.quoted($0)) is an extension of another kind, and is ignored" }
    if case .app = role, migrationExtension == nil {
      notes.append("it has no migration extension, so that its data cannot be migrated")
    }
    return notes
  }
}

extension AppBundle.Role {
  /// What a program is told of what a bundle is.
  func members(hasExtension: Bool) -> [JSONValue.Member] {
    let (clip, parent): (String?, String?) =
      switch self {
      case .app(let clip): (clip, nil)
      case .clip(let app): (nil, app)
      }
    return [
      .init("hasExtension", .bool(hasExtension)), .init("clip", clip.map(JSONValue.string) ?? .null),
      .init("clipOf", parent.map(JSONValue.string) ?? .null),
    ]
  }

  /// What a person is told of it; nil for an app.
  var words: String? {
    if case .clip(let app) = self { "clip of \(app)" } else { nil }
  }
}

extension AppHome.Installation {
  /// What a person is told of the clip whose place the app has taken; empty where there was none.
  var replaced: String {
    guard let replacement else { return "" }
    return "It has taken the place of its clip \(replacement.clip), which is removed with its own data.\n"
      + replacement.groups.map { "The group \($0), which only the clip listed, is removed with it.\n" }.joined()
  }

  /// What a program is told of what it is, and of that clip.
  var roleMembers: [JSONValue.Member] {
    app.bundle.role.members(hasExtension: app.bundle.migrationExtension != nil) + [
      .init("replacedClip", (replacement?.clip).map(JSONValue.string) ?? .null),
      .init("removedGroups", .array((replacement?.groups ?? []).map(JSONValue.string))),
    ]
  }
}
