/// For how long an exporter may append nothing.
package enum IdleLimit: Equatable, Sendable {
  case seconds(Double)
  /// Without limit: its author examines it with a debugger.
  case off

  /// The default limit.
  package static let standard = IdleLimit.seconds(20)

  /// The limit in seconds; nil for none.
  package var seconds: Double? { if case .seconds(let seconds) = self { seconds } else { nil } }
}
