import MigrationSystem
import MigrationWire

/// Groups: their owners, and the time of their removal.
extension AppHome {
  /// All recorded owners, by group.
  func groupRecords() throws(Failure) -> [String: GroupOwner] {
    var records: [String: GroupOwner] = [:]
    for name in try files.names(in: Folder.groups.rawValue) {
      guard let group = GroupOwner.group(name),
        let bytes = try files.read(GroupOwner.place(of: group), limit: GroupOwner.longest),
        let owner = GroupOwner(bytes)
      else { continue }
      records[group] = owner
    }
    return records
  }

  /// The valid owners: the group's directory exists, or the clip or its app is installed and lists
  /// it.
  func groupOwners(among listing: Listing) throws(Failure) -> [String: GroupOwner] {
    var owners: [String: GroupOwner] = [:]
    for (group, owner) in try groupRecords() {
      let isThere = try files.kind(of: Folder.groups.place(group)) != nil
      let isListed = listing.apps.contains { owner.admits($0.bundle) && $0.bundle.allGroups.contains(group) }
      if isThere || isListed { owners[group] = owner }
    }
    return owners
  }

  /// Records the owners of a clip's groups, durably, before the clip is published. Needs the
  /// catalog's lock.
  func claimGroups(of bundle: AppBundle) throws(Failure) {
    guard case .clip(let app) = bundle.role else { return }
    let owner = GroupOwner(app: app, clip: bundle.identifier)
    let records = try groupRecords()
    for group in bundle.allGroups where records[group] != owner {
      try files.write(GroupOwner.place(of: group), owner.encoded)
    }
  }

  /// Removes the groups of an app or clip whose bundle is at a place, under the catalog's lock, and
  /// returns those that existed. These are the groups that it lists, and those that belong to it
  /// and its counterpart, unless another installed app lists them. Removes none while that is
  /// unknown.
  func removeGroups(of identifier: String, at place: String) throws(Failure) -> [String] {
    let others = try catalog()
    guard others.damaged.isEmpty else { return [] }
    let bundle = try? AppBundle(installedAt: Array(files.path("\(place)/bundle").utf8))
    let owned = try groupRecords().filter { $0.value.app == identifier || $0.value.clip == identifier }
    let listed = others.apps.flatMap(\.bundle.allGroups)
    let abandoned = Set(bundle?.allGroups ?? []).union(owned.keys).subtracting(listed)
    var removed: [String] = []
    for group in abandoned.sorted() {
      if try files.kind(of: Folder.groups.place(group)) != nil { removed.append(group) }
      try removeGroup(group)
    }
    return removed
  }

  /// Removes the groups of apps and clips of which neither is installed any more. Needs the
  /// catalog's lock.
  func sweepGroups() throws(Failure) {
    let records = try groupRecords()
    guard !records.isEmpty else { return }
    let listing = try catalog()
    guard listing.damaged.isEmpty else { return }
    let listed = Set(listing.apps.flatMap(\.bundle.allGroups))
    let installed = Set(listing.apps.map(\.identifier) + listing.outgoing)
    for (group, owner) in records
    where !listed.contains(group) && !installed.contains(owner.app) && !installed.contains(owner.clip) {
      try removeGroup(group)
    }
  }

  /// Removes a group's directory, and then the record of its owner.
  private func removeGroup(_ group: String) throws(Failure) {
    try files.removeTree(Folder.groups.place(group))
    let record = GroupOwner.place(of: group)
    try files.remove(record)
    // A crash may have left this file.
    try files.remove("\(record).new")
  }

  /// The owners of a group since a clip that lists it was installed: only the clip and its app. The
  /// record is a file next to the group's directory, `groups/.GROUP.owner`; no group has such a name,
  /// and a temporary file of such a record has another name.
  struct GroupOwner: Equatable, Sendable {
    let app: String
    let clip: String

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
}

extension AppHome.GroupOwner {
  /// Parses the result of `encoded`; nil for any other text.
  init?(_ bytes: [UInt8]) {
    let words = String(decoding: bytes, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 2, words[1].hasSuffix("\n") else { return nil }
    (app, clip) = (String(words[0]), String(words[1].dropLast()))
    guard AppName.isWellFormed(app), AppName.isWellFormed(clip) else { return nil }
  }
}
