internal import MigrationHost

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
