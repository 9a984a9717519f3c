import MigrationSystem

/// Where the program's texts go.
struct OutputTarget: Sendable {
  /// Writes a text, however long its reader takes, and calls `took` after each piece.
  let write: @Sendable (_ text: String, StandardStream, _ took: () -> Void) -> Void
  /// Writes as much of a text as its reader takes soon.
  let attempt: @Sendable (_ text: String, StandardStream) -> Void

  /// How long an attempt may take, in milliseconds.
  private static let soon: CInt = 100

  /// Standard output and standard error, as which the descriptors of these numbers serve.
  static func descriptors(output: CInt, error: CInt) -> OutputTarget {
    let raw = { @Sendable (stream: StandardStream) in stream == .output ? output : error }
    return OutputTarget(
      write: { text, stream, took in
        _ = unsafe StandardStream.write(text.utf8.span.bytes, to: raw(stream), took: took)
      },
      attempt: { text, stream in unsafe StandardStream.attempt(text.utf8.span.bytes, to: raw(stream), within: soon) })
  }

  /// The program's own.
  static let standard = descriptors(output: StandardStream.output.rawValue, error: StandardStream.error.rawValue)
}
