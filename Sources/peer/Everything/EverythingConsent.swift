import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// Asks the person at the terminal of `peer receive --everything` about a plan, once: it is shown
/// with its total and the free space, and what runs by itself and secrets stand apart.
struct EverythingConsent: Sendable {
  let output: Output
  /// The descriptor of a signal that ends the waiting.
  let interruption: CInt
  /// What the command line allows already.
  let permissions: EverythingImporters.Permissions
  /// What a part is for this device.
  let flags: @Sendable (Part) -> Part.Flags
  /// Whether a program answers, instead of a person at the terminal.
  var isOfProgram = false

  /// The number of answers that may be neither yes nor no.
  private static let tries = 3

  /// Shows the plan and waits for an answer; nil if the answer is no longer needed.
  func ask(_ question: ConsentQuestion, until: CInt) -> ConsentAnswer? {
    let special = Set(question.parts.filter { !permissions.allow(flags($0.part)) }.map(\.number))
    if isOfProgram {
      let questioner = ProgramQuestioner(output: output, interruptions: [interruption, until])
      return Self.answer(besides: special, isOfProgram: true) {
        (try? questioner.ask(.consent, members(question))) ?? .endOfInput
      }
    }
    return output.hold { () -> ConsentAnswer? in
      guard let questioner = try? Questioner() else { return .no }
      let columns = Terminal.width(StandardStream.error.rawValue) ?? 80
      questioner.write(Self.text(question, question.parts.map { flags($0.part) }, columns: columns))
      return Self.answer(besides: special) {
        (try? questioner.ask(Self.prompt(special), unless: [interruption, until])) ?? .endOfInput
      }
    }
  }

  /// The plan for a program: what each part is, by this device's own knowledge.
  private func members(_ question: ConsentQuestion) -> JSONMembers {
    [
      "label": question.label, "address": question.address,
      "parts": question.parts.map { wanted in
        ["number": Int(wanted.number) + 1] as JSONMembers + wanted.part.members(flags(wanted.part))
      }, "availableBytes": question.parts.compactMap(\.room.availableBytes).min(),
    ]
  }

  /// The plan in full, with all terminal controls made visible.
  static func text(_ question: ConsentQuestion, _ flags: [Part.Flags], columns: Int) -> String {
    let table = IncomingPlanTable(
      question.parts.map(\.part), flags: flags,
      availableBytes: question.parts.compactMap(\.room.availableBytes).min())
    return "\n\(DeviceAddress.shown(question.label, question.address)) wants to send:\n\(table.text(columns: columns))"
  }

  /// The question, if the parts of these numbers need a word of their own.
  static func prompt(_ special: Set<UInt16>) -> String {
    special.isEmpty
      ? "Accept this? [y/N] " : "Accept this? [y: without secrets and what runs by itself, a: all of it, N] "
  }

  /// The beginning of an answer that leaves parts out.
  private static let without = "allwithout"

  /// Accepts all parts but those with these numbers.
  private static func leavingOut(_ numbers: Substring) -> ConsentAnswer {
    let parts = numbers.split(separator: ",").map { UInt16($0) }
    // A word that is no number: what the user means is not known.
    guard parts.allSatisfy({ $0 != nil && $0 != 0 }) else { return .no }
    return .yes(without: Set(parts.compactMap { $0.map { $0 - 1 } }))
  }

  /// The meaning of the typed lines. No answer means no. A program may leave single parts out, by
  /// their numbers in the plan: `all without 3, 5`.
  static func answer(
    besides special: Set<UInt16>, isOfProgram: Bool = false, _ next: () -> Terminal.Line
  ) -> ConsentAnswer? {
    for _ in 0..<tries {
      switch next() {
      case .interrupted: return nil
      case .endOfInput: return .no
      case .line(let line):
        switch String(decoding: line, as: UTF8.self).lowercased().filter({ !$0.isWhitespace }) {
        case "y", "yes": return .yes(without: special)
        case "a", "all": return .yes()
        case "", "n", "no": return .no
        case let words where isOfProgram && words.hasPrefix(without): return leavingOut(words.dropFirst(without.count))
        default: continue
        }
      }
    }
    return .no
  }
}
