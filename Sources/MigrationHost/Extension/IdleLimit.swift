/// For how long an exporter may append nothing.
package enum IdleLimit: Equatable, Sendable {
  case seconds(Double)
  /// For as long as it likes: its author looks at it with a debugger.
  case off

  /// The limit where none is said.
  package static let standard = IdleLimit.seconds(20)

  /// The limit in seconds; nil for none.
  package var seconds: Double? { if case .seconds(let seconds) = self { seconds } else { nil } }
}
