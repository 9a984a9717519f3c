import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

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

/// Asks the person at the terminal to choose one of several devices.
enum ChoiceEntry {
  /// The number of tries of a person.
  static let tries = 3

  /// Shows the devices, waits for a number, and returns the position of the chosen device.
  ///
  /// - Parameter interruptions: descriptors that end the waiting when they become readable.
  static func choose(
    among found: [DeviceAddress], _ output: Output, unless interruptions: [CInt]
  ) throws(Failure) -> Int {
    guard let questioner = Questioner() else {
      throw .usage(
        "several devices are waiting: \(found.map(\.shownName).joined(separator: ", "))", hint: "Choose one with --to.")
    }
    return try output.hold { () throws(Failure) in
      questioner.write(text(found))
      return try answer(
        among: found.count,
        { () throws(Failure) in
          try Failure.wrapping(questioner.ask(question(found.count), unless: interruptions))
        }, say: { questioner.write($0 + "\n") })
    }
  }

  /// The devices, each with its number.
  static func text(_ found: [DeviceAddress]) -> String {
    (["Several devices are waiting:"] + found.enumerated().map { "  \($0.offset + 1)  \($0.element.shown)" })
      .map { $0 + "\n" }.joined()
  }

  static func question(_ count: Int) -> String { "Which one? [1-\(count)] " }

  /// The chosen device, from at most `tries` typed lines.
  static func answer(
    among count: Int, _ next: () throws(Failure) -> Terminal.Line, say: (String) -> Void
  ) throws(Failure) -> Int {
    for _ in 0..<tries {
      switch try next() {
      case .interrupted: throw Failure(.interrupted, "interrupted before a device was chosen")
      case .endOfInput: throw Failure(.usage, "no device was chosen", hint: "Choose one with --to.")
      case .line(let bytes):
        let typed = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
        if let number = Int(typed), (1...count).contains(number) { return number - 1 }
        say("Not a valid choice: type a number from 1 to \(count).")
      }
    }
    throw Failure(.usage, "no device was chosen", hint: "Choose one with --to.")
  }
}

/// Waits until the person at the terminal wants new codes after too many wrong ones.
enum RestartEntry {
  /// Asks at the terminal; nil if no person would see the request, or none could answer it.
  ///
  /// - Parameter interruption: the descriptor of a signal that ends the waiting.
  static func asker(json: Bool, unless interruption: CInt) -> RestartAsker? {
    guard !json, Terminal.isTerminal(StandardStream.error.rawValue), let questioner = Questioner() else {
      return nil
    }
    return { until in answer((try? questioner.waitForEnter(unless: [interruption, until])) ?? .endOfInput) }
  }

  /// The meaning of a line. Any text is accepted, since Enter ended it.
  static func answer(_ line: Terminal.Line) -> Bool? {
    switch line {
    case .line: true
    case .endOfInput: false
    case .interrupted: nil
    }
  }
}

/// The questions of a command to the program that reads its JSON: each is an event, and a line of
/// standard input is the answer, in the words that a person types at a terminal.
struct ProgramQuestioner: Sendable {
  let output: Output
  /// Descriptors that end the waiting when they become readable.
  var interruptions: [CInt]

  /// The subject of a question.
  enum Subject: String {
    /// The entries of the inventory that move.
    case choice
    /// The code that the other device shows.
    case code
    /// The plan of the other device.
    case consent
    /// The secrets of a plan that is accepted.
    case secrets
    /// The items that were moved or removed here since they arrived.
    case removed
    /// The token of a relay, which this device then remembers.
    case token
  }

  /// Writes an event of this run; earlier events are written first.
  func tell(_ event: String, _ members: JSONMembers) {
    output.hold { Self.write(event, members) }
  }

  /// How many questions this process has asked.
  private static let asked = Mutex(0)

  /// Asks, and waits for the answer. A line that begins with the number of another question, as in
  /// "#3 all", is an answer to that one: it came too late.
  func ask(
    _ subject: Subject, _ members: JSONMembers, mistake: String? = nil
  ) throws(Failure) -> Terminal.Line {
    let number = Self.asked.withLock { asked in
      asked += 1
      return asked
    }
    do throws(SystemError) {
      return try output.hold { () throws(SystemError) -> Terminal.Line in
        Self.write(
          "question", ["number": number, "about": subject.rawValue] + members + ["mistake": IfGiven(mistake)])
        while true {
          switch try Terminal.readLine(unless: interruptions) {
          case .line(var line):
            defer { cleanse(&line) }
            if let answer = Self.answer(line, to: number) { return .line(answer) }
          case .interrupted:
            Self.write("withdrawn", ["number": number])
            return .interrupted
          case .endOfInput: return .endOfInput
          }
        }
      }
    } catch {
      throw Failure(.failed, error.about("standard input").description)
    }
  }

  /// The answer in a line; nil if that is for another question.
  static func answer(_ line: [UInt8], to number: Int) -> [UInt8]? {
    let mark = line.first == UInt8(ascii: "#") ? Array("#\(number) ".utf8) : []
    return line.starts(with: mark) ? Array(line[mark.count...]) : nil
  }

  private static func write(_ event: String, _ members: JSONMembers) {
    let time: JSONMembers = ["time": CalendarTime.text(Timestamp.coarseNow().seconds)]
    StandardStream.output.write(Rendering.event(event, members + time).standardOutput)
  }
}
