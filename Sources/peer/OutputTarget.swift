import MigrationSystem

/// The destination of the program's texts.
struct OutputTarget: Sendable {
  /// Writes a text, at any speed of its reader, and calls `took` after each piece.
  let write: @Sendable (_ text: String, StandardStream, _ took: () -> Void) -> Void
  /// Writes as much of a text as its reader soon takes.
  let attempt: @Sendable (_ text: String, StandardStream) -> Void

  /// The time limit of an attempt, in milliseconds.
  private static let soon: CInt = 100

  /// Descriptors with these numbers, as standard output and standard error.
  static func descriptors(output: CInt, error: CInt) -> OutputTarget {
    let raw = { @Sendable (stream: StandardStream) in stream == .output ? output : error }
    return OutputTarget(
      write: { text, stream, took in
        _ = StandardStream.write(text.utf8.span, to: raw(stream), took: took)
      },
      attempt: { text, stream in StandardStream.attempt(text.utf8.span, to: raw(stream), within: soon) })
  }

  /// The program's own standard output and standard error.
  static let standard = descriptors(output: StandardStream.output.rawValue, error: StandardStream.error.rawValue)
}
