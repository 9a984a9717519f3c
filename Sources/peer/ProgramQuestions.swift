import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// The questions of a command to the program that reads its JSON: each is an event, and a line of
/// standard input is the answer, in the words that a person types at a terminal.
struct ProgramQuestioner: Sendable {
  let output: Output
  /// Descriptors that end the waiting when they become readable.
  var interruptions: [CInt]

  /// What a question is about.
  enum Subject: String {
    /// The entries of the inventory that move.
    case choice
    /// The code that the other device shows.
    case code
    /// The plan of the other device.
    case consent
    /// The token of a relay, which this device then remembers.
    case token
  }

  /// Writes an event of this run; earlier events are written first.
  func tell(_ event: String, _ members: JSONMembers) {
    output.hold { Self.write(event, members) }
  }

  /// Asks, and waits for the answer.
  func ask(
    _ subject: Subject, _ members: JSONMembers, mistake: String? = nil
  ) throws(TransferFailure) -> Terminal.Line {
    do throws(SystemError) {
      return try output.hold { () throws(SystemError) -> Terminal.Line in
        Self.write("question", ["about": subject.rawValue] + members + ["mistake": IfGiven(mistake)])
        return try Terminal.readLine(unless: interruptions)
      }
    } catch {
      throw TransferFailure(.failed, error.about("standard input").description)
    }
  }

  private static func write(_ event: String, _ members: JSONMembers) {
    let time: JSONMembers = ["time": CalendarTime.text(Timestamp.coarseNow().seconds)]
    StandardStream.output.write(Rendering.event(event, members + time).standardOutput)
  }
}
