/// What is set for this app, in `UserDefaults.standard`.
///
/// Settings that only mean something on one device, such as a window's size, would not be listed here.
public struct Settings: Codable, Equatable, Sendable {
  public var sortOrder: String?

  public init(sortOrder: String? = nil) { self.sortOrder = sortOrder }
}

/// What is set for all apps of the group, in `UserDefaults(suiteName:)` of the group.
public struct SharedSettings: Codable, Equatable, Sendable {
  public var signature: String?

  public init(signature: String? = nil) { self.signature = signature }
}
