/// How long the end of a run may take once it is decided, or asked for by a signal.
enum Curfew {
  /// For the last words to the other device.
  static let forWords = Duration.milliseconds(400)
  /// For threads to end; what they leave undone is done by the next run.
  static let atTheEnd = Duration.milliseconds(900)
}
