import MigrationSystem

/// The process's terminal for questions, if standard input is a terminal.
///
/// A program with another standard input belongs to a script, and asks nothing, even if there is a
/// terminal.
struct Questioner: Sendable {
  private static let standardInput: CInt = 0

  /// Nil if the terminal cannot be opened by its name: then standard input is used.
  private let terminal: SharedDescriptor?

  /// Nil if standard input is not a terminal.
  init?() {
    guard Terminal.isTerminal(Self.standardInput) else { return nil }
    do {
      terminal = SharedDescriptor(try Descriptor.openThroughLinks(Array("/dev/tty".utf8), .readWrite))
    } catch {
      terminal = nil
    }
  }

  func write(_ text: String) {
    if let terminal {
      try? terminal.descriptor.append(text.utf8.span)
    } else {
      StandardStream.error.write(text)
    }
  }

  /// Forgets what was typed until now: it was no answer to the next question.
  func forgetTyped() { Terminal.forgetTyped(at: raw) }

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
