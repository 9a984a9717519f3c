/// The options of an export without options.
public enum MigrationDefaultSupportedOptions: Equatable, Hashable, RawRepresentable, CaseIterable, Sendable {
  /// Always nil.
  public init?(rawValue: String) { nil }

  /// There is no value to ask.
  public var rawValue: String { switch self {} }
}
