import MigrationHost
import MigrationWire

extension AppBundle {
  /// Notes on the bundle for its author and for the person who installs it; lower-case clauses.
  var notes: [String] {
    var notes = otherExtensions.map { "\(VisibleText.quoted($0)) is an extension of another kind, which is ignored" }
    if case .app = role, migrationExtension == nil {
      notes.append("the app has no migration extension: its data cannot be migrated")
    }
    return notes
  }
}

extension AppBundle.Role {
  /// The JSON members that describe a bundle.
  func members(hasExtension: Bool) -> JSONMembers {
    let (clip, parent): (String?, String?) =
      switch self {
      case .app(let clip): (clip, nil)
      case .clip(let app): (nil, app)
      }
    return [
      "hasExtension": hasExtension, "clip": clip,
      "clipOf": parent,
    ]
  }

  /// The words that describe it to a person; nil for an app.
  var words: String? {
    if case .clip(let app) = self { "clip of \(app)" } else { nil }
  }
}

extension AppHome.Installation {
  /// A sentence about the clip that the app has replaced; empty if there was none.
  var replaced: String {
    guard let replacement else { return "" }
    return "It has replaced its clip \(replacement.clip); the clip's own data is removed.\n"
      + replacement.groups.map { "The group \($0), which only the clip listed, is removed too.\n" }.joined()
  }

  /// The JSON members that describe the bundle and the replaced clip.
  var roleMembers: JSONMembers {
    app.bundle.role.members(hasExtension: app.bundle.migrationExtension != nil) + [
      "replacedClip": replacement?.clip,
      "removedGroups": replacement?.groups ?? [],
    ]
  }
}
