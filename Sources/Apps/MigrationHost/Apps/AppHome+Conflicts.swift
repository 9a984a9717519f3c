import MigrationWire

/// The rules for apps that are installed together: a clip and its app name each other or are
/// unrelated, and a clip's groups belong only to these two.
extension AppHome {
  /// Fails if the installed apps prevent the installation of a bundle. Needs the catalog's lock.
  func checkConflicts(of bundle: AppBundle) throws(Failure) {
    let listing = try catalog()
    for other in listing.apps {
      if let fault = fault(of: bundle, beside: other.bundle) { throw fault }
    }
    for other in listing.damaged { try check(bundle, beside: other) }
    try checkGroups(of: bundle, among: listing)
  }

  private func fault(of bundle: AppBundle, beside other: AppBundle) -> Failure? {
    let (name, neighbour) = (bundle.identifier, other.identifier)
    if name == neighbour { return kindFault(of: bundle, inPlaceOf: other) }
    switch (bundle.role, other.role) {
    case (.clip(neighbour), .app(name)):
      return .association(
        ClipEntitlement.parent, "its app \(neighbour) is installed, and replaces the clip",
        hint: "'peer app run \(name)' starts the app. To try the clip, remove the app: 'peer app remove \(neighbour)'.")
    case (.clip(neighbour), _):
      return .association(
        ClipEntitlement.parent, "the \(other.noun) \(neighbour) is installed, and does not name \(name) as its clip",
        hint: "Remove it, 'peer app remove \(neighbour)', or install an edition of it that names the clip.")
    case (.app(neighbour), .clip(name)):
      return nil
    case (.app(neighbour), _):
      return .association(
        ClipEntitlement.clip, "the \(other.noun) \(neighbour) is installed, and does not name \(name) as its app",
        hint: "Remove it: 'peer app remove \(neighbour)'.")
    case (_, .clip(name)):
      return .association(
        ClipEntitlement.clip,
        "the clip \(neighbour) is installed and names \(name) as its app, which does not name it as its clip",
        hint: "Name it there, or remove it: 'peer app remove \(neighbour)'.")
    case (_, .app(name)):
      return .association(
        ClipEntitlement.parent,
        "the app \(neighbour) is installed and names \(name) as its clip, which does not name it as its app",
        hint: "Remove the app: 'peer app remove \(neighbour)'.")
    case (.app(let clip?), .app(let same)) where clip == same:
      return .association(
        ClipEntitlement.clip, "the app \(neighbour) is installed, and names the same clip, \(clip)",
        hint: "Remove that app: 'peer app remove \(neighbour)'.")
    default: return nil
    }
  }

  /// Another version keeps its role: an app, or the clip of the same app. The two have different
  /// data.
  private func kindFault(of bundle: AppBundle, inPlaceOf former: AppBundle) -> Failure? {
    let words: String
    switch (bundle.role, former.role) {
    case (.app, .app): return nil
    case (.clip(let app), .clip(let same)) where app == same: return nil
    case (_, .app): words = "an app"
    case (_, .clip(let app)): words = "the clip of \(app)"
    }
    return .association(
      ClipEntitlement.parent, "\(bundle.identifier) is installed as \(words)",
      hint: "Remove it first: 'peer app remove \(bundle.identifier)'.")
  }

  /// The relation to an unreadable bundle cannot be checked.
  private func check(_ bundle: AppBundle, beside other: Damaged) throws(Failure) {
    let key: String
    switch bundle.role {
    case .app(other.identifier): key = ClipEntitlement.clip
    case .clip(other.identifier): key = ClipEntitlement.parent
    default: return
    }
    throw .association(
      key, "\(other.identifier) is installed, and its bundle is damaged",
      hint: "Remove it: 'peer app remove \(other.identifier)'.")
  }

  private func checkGroups(of bundle: AppBundle, among listing: Listing) throws(Failure) {
    let owners = try groupOwners(among: listing)
    for group in bundle.allGroups {
      if let owner = owners[group], !owner.admits(bundle) {
        throw .group(
          group, of: bundle, "belongs to the app \(owner.app) and its clip \(owner.clip)",
          remove: remover(of: owner, among: listing))
      }
      guard case .clip = bundle.role else { continue }
      if let other = listing.apps.first(where: {
        $0.identifier != bundle.identifier && $0.bundle.allGroups.contains(group)
      }) {
        throw .group(group, of: bundle, "is listed by \(other.identifier) already", remove: other.identifier)
      }
      // An existing directory may have another app's data.
      guard owners[group] == nil, try files.kind(of: Folder.groups.place(group)) != nil else { continue }
      if let other = listing.damaged.first(where: { $0.identifier != bundle.identifier }) {
        throw .group(
          group, of: bundle, "has data, and the bundle of \(other.identifier), which may list it, is damaged",
          remove: other.identifier)
      }
    }
  }

  /// The bundle whose removal removes a group.
  private func remover(of owner: GroupOwner, among listing: Listing) -> String {
    let installed = listing.apps.map(\.identifier) + listing.damaged.map(\.identifier)
    return [owner.app, owner.clip].first { installed.contains($0) } ?? listing.damaged.first?.identifier ?? owner.app
  }
}

extension Failure {
  /// A bundle is incompatible with another one that is installed.
  fileprivate static func association(_ key: String, _ reason: String, hint: String) -> Failure {
    .bundle(ClipEntitlement.file, key: key, reason, hint: hint)
  }

  /// A bundle lists a group that it cannot have.
  fileprivate static func group(
    _ group: String, of bundle: AppBundle, _ reason: String, remove other: String
  ) -> Failure {
    .bundle(
      bundle.file(listing: group), key: ExtensionPoint.groupsEntitlement, "the group '\(group)' \(reason)",
      hint: "Take the group out of the list, or remove \(other) first: 'peer app remove \(other)'.")
  }
}
