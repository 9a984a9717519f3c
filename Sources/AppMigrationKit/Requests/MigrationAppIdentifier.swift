internal import MigrationHost

/// Which app a device's data belongs to: the store it came from, its bundle identifier, and the platform.
public struct MigrationAppIdentifier: Codable, Sendable {
  /// A store that apps come from.
  ///
  /// Any name is a store; those that the system itself uses are constants.
  public struct StoreIdentifier: RawRepresentable, Codable, Hashable, Sendable {
    /// The store's name, as it travels between the devices.
    public let rawValue: String

    /// Names a store.
    public init(_ rawValue: String) {
      self.rawValue = rawValue
    }

    /// Names a store.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// The store of Android's apps.
    public static let googlePlay = StoreIdentifier(SourceClaim.android.store)
  }

  /// The store that the app came from.
  public let storeIdentifier: StoreIdentifier
  /// The app's own name for itself, such as `org.example.notes`.
  public let bundleIdentifier: String
  /// The platform that this edition of the app is for.
  public let platform: MigrationPlatform

  /// Identifies an app.
  public init(storeIdentifier: StoreIdentifier, bundleIdentifier: String, platform: MigrationPlatform) {
    self.storeIdentifier = storeIdentifier
    self.bundleIdentifier = bundleIdentifier
    self.platform = platform
  }
}
