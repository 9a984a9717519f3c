import MigrationSystem
import MigrationWire

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
