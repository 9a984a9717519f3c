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
