import MigrationTransfer

extension Duration {
  /// The duration in seconds.
  var seconds: Double { self / .seconds(1) }

  /// The duration in seconds, as a time to reconnect: at least 0, and at most a month.
  var patience: Double { min(max(0, seconds), ThisDevice.longestPatience) }
}
