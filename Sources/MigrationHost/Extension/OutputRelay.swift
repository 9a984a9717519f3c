import MigrationSystem

/// A line that an extension wrote.
package struct ExtensionOutput: Sendable {
  package enum Stream: String, Sendable {
    case output
    case error
  }

  package let stream: Stream
  /// The bytes as received, without the line's end; escape them before showing them.
  package let line: [UInt8]
}

/// One of a process's streams, passed to an observer line by line.
struct OutputRelay: ~Copyable, Sendable {
  /// The longest text to show at once; a longer line is passed in pieces.
  private static let longestLine = 4 << 10

  private let stream: ExtensionOutput.Stream
  private let source: Descriptor
  private let observe: @Sendable (ExtensionOutput) -> Void
  private var rest: [UInt8] = []
  private(set) var isOpen = true

  init(
    _ stream: ExtensionOutput.Stream, from source: consuming Descriptor,
    _ observe: @escaping @Sendable (ExtensionOutput) -> Void
  ) {
    self.stream = stream
    self.source = source
    self.observe = observe
  }

  var raw: CInt { source.raw }

  /// Passes on the data of one read; the caller knows that it will not block.
  mutating func pass() {
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    let count = try? source.readNext(into: &buffer)
    guard let count, count > 0 else { return finish() }
    for byte in buffer[..<count] {
      if byte == UInt8(ascii: "\n") {
        tell()
      } else {
        rest.append(byte)
        if rest.count == Self.longestLine { tell() }
      }
    }
  }

  /// Passes on the last line, if it has no end.
  mutating func finish() {
    isOpen = false
    if !rest.isEmpty { tell() }
  }

  private mutating func tell() {
    observe(ExtensionOutput(stream: stream, line: rest))
    rest = []
  }
}
