/// How long the end of a run may take once it is decided, or asked for by a signal, in seconds.
enum Curfew {
  /// For the last words to the other device.
  static let forWords = 0.4
  /// For threads to end; what they leave undone is done by the next run.
  static let atTheEnd = 0.9
}
