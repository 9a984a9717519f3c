/// What the other device wants of an export.
public struct MigrationRequestWithOptions<OptionsType>: Sendable
where
  OptionsType: CaseIterable, OptionsType: Hashable, OptionsType: RawRepresentable, OptionsType: Sendable,
  OptionsType.RawValue == String
{
  /// The platform that the data goes to.
  public let destinationPlatform: MigrationPlatform
  /// What was asked for, of the options that the extension knows.
  public let options: [OptionsType: Data]

  /// Makes a request.
  public init(destinationPlatform: MigrationPlatform, options: [OptionsType: Data] = [:]) {
    self.destinationPlatform = destinationPlatform
    self.options = options
  }
}
