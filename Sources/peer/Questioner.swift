import MigrationSystem
import MigrationTransfer

/// The terminal, as far as questions are asked there: the process's own, where standard input is one.
///
/// A program whose standard input comes from elsewhere is a script's, also where a terminal is near: it is never asked.
struct Questioner: Sendable {
  private static let standardInput: CInt = 0

  /// Not everything that is a terminal can be opened by name; then it is standard input.
  private let terminal: SharedDescriptor?

  /// Fails where standard input is no terminal.
  init() throws(NoTerminal) {
    guard Terminal.isTerminal(Self.standardInput) else { throw NoTerminal() }
    do {
      terminal = SharedDescriptor(try Descriptor.openThroughLinks(Array("/dev/tty".utf8), .readWrite))
    } catch {
      terminal = nil
    }
  }

  struct NoTerminal: Error {}

  func write(_ text: String) {
    if let terminal {
      try? unsafe terminal.descriptor.append(text.utf8.span.bytes)
    } else {
      StandardStream.error.write(text)
    }
  }

  /// Writes a question and reads a line, unless one of some descriptors becomes readable first.
  func ask(_ question: String, unless interruptions: [CInt]) throws(SystemError) -> Terminal.Line {
    write(question)
    do throws(SystemError) {
      let answer = try Terminal.readLine(from: raw, unless: interruptions)
      if case .line = answer {} else { write("\n") }
      return answer
    } catch {
      write("\n")
      throw error.about("the terminal")
    }
  }

  /// Waits for the Enter key, unless one of some descriptors becomes readable first.
  func waitForEnter(unless interruptions: [CInt]) throws(SystemError) -> Terminal.Line {
    try Terminal.waitForEnter(from: raw, unless: interruptions)
  }

  private var raw: CInt { terminal?.raw ?? Self.standardInput }
}
