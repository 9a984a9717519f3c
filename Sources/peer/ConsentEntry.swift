import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// Asks the person at the terminal, or the program that reads the JSON, which parts of the other
/// device's plan are taken: first files and apps' data, then secrets. A last question is whether
/// items that were moved or removed here come again.
struct ConsentEntry: Sendable {
  /// The number of lines that may be no answer.
  private static let tries = 3

  let output: Output
  /// The descriptor of a signal that ends the waiting.
  let interruption: CInt
  /// The classes that the command line already allows.
  let permissions: ArrivalClasses
  /// Whether each plan is asked about, and not only one with apps' data or secrets.
  let asksAlways: Bool
  /// Whether a program answers, instead of a person at the terminal.
  let isOfProgram: Bool

  /// Fails without a terminal.
  static func check() throws(Failure) {
    if Questioner() == nil {
      throw .usage(
        "--ask needs a terminal, or --json",
        hint: "Remove --ask: the code that the sender enters is consent enough for files.")
    }
  }

  /// Shows a plan and waits for the answers; nil if they are no longer needed.
  func ask(_ question: ConsentQuestion, until: CInt) -> ConsentAnswer? {
    let plan = IncomingPlan(question, allowing: permissions)
    guard asksAlways || plan.isSpecial else { return .yes() }
    let interruptions = [interruption, until]
    guard !isOfProgram else {
      let questioner = ProgramQuestioner(output: output, interruptions: interruptions)
      return Self.answer(plan) { asked, mistake in
        (try? questioner.ask(asked.subject, asked.members, mistake: mistake)) ?? .endOfInput
      }
    }
    return output.hold { () -> ConsentAnswer? in
      guard let questioner = Questioner() else { return .no }
      questioner.forgetTyped()
      questioner.write(plan.text(columns: Terminal.width(StandardStream.error.rawValue) ?? 80))
      return Self.answer(plan) { asked, mistake in
        if let mistake { questioner.write("\(mistake)\n") }
        return (try? questioner.ask(asked.prompt, unless: interruptions)) ?? .endOfInput
      }
    }
  }

  /// A question.
  struct Asked {
    let subject: ProgramQuestioner.Subject
    /// For a program.
    let members: JSONMembers
    /// For a person.
    let prompt: String
    /// The forms of an answer, in words.
    fileprivate let forms: String
  }

  /// Gets the next line for a question; the mistake of the line before stands with it.
  typealias Asking = (Asked, String?) -> Terminal.Line

  /// The meaning of the typed lines. A line of another form is asked for again; no answer means no.
  static func answer(_ plan: IncomingPlan, _ next: Asking) -> ConsentAnswer? {
    var accepted: (line: [UInt8], taking: IncomingPlan.Taking)?
    let consent = Asked(subject: .consent, members: plan.members, prompt: plan.prompt, forms: IncomingPlan.forms)
    let isAnswered = ask(consent, next) { line in
      guard let answer = plan.answer(line) else { return false }
      if case .taking(let taking) = answer { accepted = (line, taking) }
      return true
    }
    if isAnswered == nil { return nil }
    guard let accepted else { return .no }
    var taking = accepted.taking
    let entries = plan.secrets(after: accepted.line, taking)
    if !entries.isEmpty {
      let secrets = Asked(
        subject: .secrets, members: ["parts": entries.map(\.members)], prompt: IncomingPlan.secretPrompt(entries),
        forms: IncomingPlan.secretForms)
      let isToldSecrets = ask(secrets, next) { line in
        guard let taken = IncomingPlan.secretAnswer(line, of: entries) else { return false }
        for number in taken { taking[number]?.insert(.secrets) }
        return true
      }
      if isToldSecrets == nil { return nil }
    }
    let folders = plan.removals(after: taking)
    if folders.isEmpty { return .yes(taking: taking) }
    var removals: ReceiverEngine.Removals = [:]
    let removed = Asked(
      subject: .removed, members: IncomingPlan.members(of: folders), prompt: IncomingPlan.removalPrompt(folders),
      forms: IncomingPlan.removalForms)
    let isTold = ask(removed, next) { line in
      guard let said = IncomingPlan.removalAnswer(line, of: folders) else { return false }
      removals = said
      return true
    }
    return isTold == nil ? nil : .yes(taking: taking, removals: removals)
  }

  /// Whether one of a few lines was an answer; nil if none is needed any more.
  private static func ask(_ asked: Asked, _ next: Asking, _ take: ([UInt8]) -> Bool) -> Bool? {
    var mistake: String?
    for _ in 0..<tries {
      switch next(asked, mistake) {
      case .interrupted: return nil
      case .endOfInput: return false
      case .line(let line): if take(line) { return true }
      }
      mistake = "Not an answer: type \(asked.forms)."
    }
    return false
  }
}
