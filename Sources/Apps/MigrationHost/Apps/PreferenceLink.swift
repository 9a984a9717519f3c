import MigrationSystem
import MigrationWire

extension InstalledApp {
  /// The container's links that this program created.
  func preferenceLinks() throws(Failure) -> [PreferenceLink] {
    var links: [PreferenceLink] = []
    guard let status = try files.status(of: "\(container)/.config"), ContainerContents.isOpen(status) else { return [] }
    for name in try files.names(in: "\(container)/.config") {
      guard let link = PreferenceLink(name: name), try isOurs(link) else { continue }
      links.append(link)
    }
    return links
  }

  /// Creates a link for each group, and removes the links of groups that the app no longer has.
  func linkPreferences() throws(Failure) {
    guard try files.kind(of: "\(container)/.config") == .directory else { return }
    let wanted = bundle.allGroups.map { PreferenceLink($0) }
    for link in try preferenceLinks() where !wanted.contains(link) { try files.remove("\(container)/\(link.file)") }
    for link in wanted {
      let place = "\(container)/\(link.file)"
      if try isOurs(link) { continue }
      try makeRoom(for: link, at: place)
      try files.makeLink(place, target: files.path(link.target))
    }
  }

  /// Whether the link exists, and points to the right target.
  private func isOurs(_ link: PreferenceLink) throws(Failure) -> Bool {
    let place = "\(container)/\(link.file)"
    guard try files.kind(of: place) == .symbolicLink else { return false }
    return try files.readLink(place) == Array(files.path(link.target).utf8)
  }

  /// Preferences that were not shared until now become the group's, if it has none yet; otherwise
  /// they are kept next to the link.
  private func makeRoom(for link: PreferenceLink, at place: String) throws(Failure) {
    switch try files.kind(of: place) {
    case nil: return
    case .regular:
      let isFirst = try files.kind(of: link.target) == nil
      try files.move(place, to: isFirst ? link.target : "\(place).\(try Self.randomName())")
    case .symbolicLink: try files.remove(place)
    default:
      throw Failure(
        .failed, "the container of \(identifier) has an entry at \"\(link.file)\" that is neither a file nor a link",
        hint: "Move it away: the preferences of the group belong there.")
    }
  }

  /// The link through which all processes that list a group share its preferences.
  ///
  /// Foundation keeps `UserDefaults(suiteName:)` in `.config/SUITE.plist` in the home directory, and
  /// writes through a link in that place. So a suite with a group's name is one file in the group's
  /// directory.
  struct PreferenceLink: Equatable {
    private static let suffix = ".plist"
    let group: String

    init(_ group: String) { self.group = group }

    /// The link's path within a container.
    var file: String { ".config/\(group)\(Self.suffix)" }
    /// The directory of the preferences, as a place in PEER_HOME.
    var directory: String { "groups/\(group)/Library/Preferences" }
    /// The preferences, as a place in PEER_HOME.
    var target: String { "\(directory)/\(group)\(Self.suffix)" }

    /// Parses a name in `.config` as a link's; nil if it cannot be one.
    init?(name: String) {
      guard name.hasSuffix(Self.suffix) else { return nil }
      group = String(name.dropLast(Self.suffix.count))
      guard AppName.isWellFormed(group) else { return nil }
    }
  }
}
