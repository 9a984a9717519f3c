internal import MigrationHost

/// The other device's request to an export without options.
public typealias MigrationRequest = MigrationRequestWithOptions<MigrationDefaultSupportedOptions>

/// The other device's request to an export.
public struct MigrationRequestWithOptions<OptionsType>: Sendable
where
  OptionsType: CaseIterable, OptionsType: Hashable, OptionsType: RawRepresentable, OptionsType: Sendable,
  OptionsType.RawValue == String
{
  /// The platform of the data's destination.
  public let destinationPlatform: MigrationPlatform
  /// The requested options that the extension knows.
  public let options: [OptionsType: Data]

  /// Makes a request.
  public init(destinationPlatform: MigrationPlatform, options: [OptionsType: Data] = [:]) {
    self.destinationPlatform = destinationPlatform
    self.options = options
  }
}

/// The source of an import's data.
public struct ResourcesImportRequest: Sendable {
  /// The app that exported the data.
  public let sourceAppIdentifier: MigrationAppIdentifier
  /// The `resourcesVersion` of its exporter.
  public let sourceVersion: String

  /// Makes a request; only tests need this.
  public init(sourceAppIdentifier: MigrationAppIdentifier, sourceVersion: String) {
    self.sourceAppIdentifier = sourceAppIdentifier
    self.sourceVersion = sourceVersion
  }
}

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

/// The platform of an app's data, at its source or its destination.
///
/// Any name is a platform; the names that the system itself uses are constants. Apple's framework
/// has `android`; this module adds `linux`.
public struct MigrationPlatform: RawRepresentable, Codable, Hashable, Sendable {
  /// The platform's name, in its form between the devices.
  public let rawValue: String

  /// Names a platform.
  public init(_ rawValue: String) {
    self.rawValue = rawValue
  }

  /// Names a platform.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Android.
  public static let android = MigrationPlatform(SourceClaim.android.platform)

  /// Linux, where `peer` runs.
  public static let linux = MigrationPlatform(AppSource.platform)
}

/// The options of an export without options.
public enum MigrationDefaultSupportedOptions: Equatable, Hashable, RawRepresentable, CaseIterable, Sendable {
  /// Always nil.
  public init?(rawValue: String) { nil }

  /// There is no value to ask.
  public var rawValue: String { switch self {} }
}
