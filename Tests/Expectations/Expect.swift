package import Testing

/// Records an issue unless a condition holds.
///
/// The library's macro shows more of a condition. It takes the compiler 16 ms at each place, which is most
/// of what a test takes.
package func expect(
  _ condition: Bool, _ comment: @autoclosure () -> Comment? = nil, sourceLocation: SourceLocation? = nil,
  fileID: String = #fileID, filePath: String = #filePath, line: Int = #line, column: Int = #column
) {
  guard !condition else { return }
  let here = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
  Issue.record(comment(), sourceLocation: sourceLocation ?? here)
}

/// Records an issue, with both values, unless they are equal.
package func expect<Value: Equatable>(
  _ value: Value, is expected: Value, _ comment: @autoclosure () -> Comment? = nil,
  sourceLocation: SourceLocation? = nil, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
  column: Int = #column
) {
  guard value != expected else { return }
  let here = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
  let values = "\(String(reflecting: value)) is not \(String(reflecting: expected))"
  let text = comment().map { "\($0): \(values)" } ?? values
  Issue.record(Comment(rawValue: text), sourceLocation: sourceLocation ?? here)
}
