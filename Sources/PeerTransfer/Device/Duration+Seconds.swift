extension Duration {
  /// The same in seconds.
  var seconds: Double { self / .seconds(1) }

  /// The same in seconds, as the patience with a lost connection: at least none, and at most a month.
  var patience: Double { min(max(0, seconds), 30 * 24 * 3600) }
}
