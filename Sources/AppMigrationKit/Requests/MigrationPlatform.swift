internal import MigrationHost

/// A platform that an app's data comes from or goes to.
///
/// Any name is a platform; those that the system itself uses are constants. Apple's framework knows `android`; `linux` is
/// added here.
public struct MigrationPlatform: RawRepresentable, Codable, Hashable, Sendable {
  /// The platform's name, as it travels between the devices.
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
