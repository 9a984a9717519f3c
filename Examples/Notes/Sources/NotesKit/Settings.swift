/// The settings of this app, in `UserDefaults.standard`.
///
/// Settings that have a meaning only on one device, such as a window's size, do not belong here.
public struct Settings: Codable, Equatable, Sendable {
  public var sortOrder: String?

  public init(sortOrder: String? = nil) { self.sortOrder = sortOrder }
}

/// The settings of all apps of the group, in `UserDefaults(suiteName:)` of the group.
public struct SharedSettings: Codable, Equatable, Sendable {
  public var signature: String?

  public init(signature: String? = nil) { self.signature = signature }
}
