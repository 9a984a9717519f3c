internal import MigrationHost

/// The identity of the app that data belongs to: its store, its bundle identifier, and its
/// platform.
public struct MigrationAppIdentifier: Codable, Sendable {
  /// A store of apps.
  ///
  /// Any name is a store; the names that the system itself uses are constants.
  public struct StoreIdentifier: RawRepresentable, Codable, Hashable, Sendable {
    /// The store's name, in its form between the devices.
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

  /// The app's store.
  public let storeIdentifier: StoreIdentifier
  /// The app's bundle identifier, such as `org.example.notes`.
  public let bundleIdentifier: String
  /// The platform of this edition of the app.
  public let platform: MigrationPlatform

  /// Identifies an app.
  public init(storeIdentifier: StoreIdentifier, bundleIdentifier: String, platform: MigrationPlatform) {
    self.storeIdentifier = storeIdentifier
    self.bundleIdentifier = bundleIdentifier
    self.platform = platform
  }
}
