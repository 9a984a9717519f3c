/// The options of an export that knows none.
public enum MigrationDefaultSupportedOptions: Equatable, Hashable, RawRepresentable, CaseIterable, Sendable {
  /// Always nil.
  public init?(rawValue: String) { nil }

  /// There is no value that could be asked.
  public var rawValue: String { switch self {} }
}
