extension AppHome {
  /// The directories in PEER_HOME that belong to apps. Most contain an entry for each app, under
  /// its identifier.
  package enum Folder: String, CaseIterable, Sendable {
    case apps
    case containers
    case groups
    case statuses
    case imports
    case staging
    case replaced
    case trash
    case locks

    /// The place of an entry in it.
    func place(_ name: String) -> String { "\(rawValue)/\(name)" }
  }
}
