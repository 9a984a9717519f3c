import MigrationTransfer

/// A page of the manual, in section 1.
enum ManualPage: String, CaseIterable, Sendable {
  case peer
  case receive
  case send
  case relay
  case app

  /// The page that describes a command.
  init(of verb: Verb?) {
    self = verb.flatMap { ManualPage(rawValue: ($0.group ?? $0).rawValue) } ?? .peer
  }

  /// Its name.
  var name: String { self == .peer ? "peer" : "peer-\(rawValue)" }

  /// The page in the language man(7).
  var text: String {
    let title = ".TH \(name.uppercased()) 1 \(Version.date) \"peer \(Version.current)\" \"User Commands\"\n"
    // Names of options and files are not hyphenated, and blanks in command lines are not widened.
    return title + ".nh\n.ad l\n" + sections.filter { !$0.body.isEmpty }.map { ".SH \($0.title)\n\($0.body)" }.joined()
  }

  private static var others: [ManualPage] { allCases.filter { $0 != .peer } }

  /// The reference to this page on other pages.
  private var reference: String { ".BR \(Roff.escaped(name)) (1)" }

  /// The page's only command; nil if it has several.
  private var verb: Verb? { Verb(rawValue: rawValue).flatMap { $0.members.isEmpty ? $0 : nil } }

  private var commands: [Verb] {
    verb == nil ? Overview.commands.filter { ManualPage(of: $0) == self } : []
  }

  private var sections: [(title: String, body: String)] {
    [
      ("NAME", nameLine), ("SYNOPSIS", synopsis), ("DESCRIPTION", description), ("COMMANDS", sectionsOfCommands),
      ("OPTIONS", options), ("EXIT STATUS", exitStatus), ("ENVIRONMENT", notes(Surroundings.environment)),
      ("FILES", notes(Surroundings.files(for: self))), ("EXAMPLES", examples), ("SEE ALSO", seeAlso),
    ]
  }

  private var nameLine: String {
    let summary = Verb(rawValue: rawValue)?.description.summary ?? Overview.summary
    return "\(Roff.escaped(name)) \\- \(Roff.escaped(summary))\n"
  }

  private var synopsis: String {
    if let verb { return CommandText.synopsis("peer \(verb.rawValue)", verb.description.forms) }
    guard self == .peer else {
      return commands.map { CommandText.synopsis("peer \($0.rawValue)", $0.description.forms) }.joined()
    }
    let usages = Overview.commands.map(\.description.usage) + Overview.options.map(\.name)
    let lines = usages.map { Roff.commandLine(["peer"] + $0.split(separator: " ").map(String.init)) + "\n" }
    return ".nf\n" + lines.joined() + ".fi\n"
  }

  private var description: String {
    if let verb { return CommandText(verb).blocks }
    guard self == .peer else { return CommandText(.app).blocks }
    let pages = Self.others.map { page in
      ".TP\n\(page.reference)\n\(Roff.escaped(Verb(rawValue: page.rawValue)?.description.summary ?? ""))\n"
    }
    return Roff.prose(Overview.text) + ".PP\n" + Roff.prose(Overview.resuming)
      + ".PP\nThese commands have pages of their own:\n" + pages.joined()
  }

  private var sectionsOfCommands: String {
    commands.map { ".SS peer \(Roff.escaped($0.rawValue))\n" + CommandText($0).whole }.joined()
  }

  private var options: String {
    if let verb { return CommandText(verb).options }
    return self == .peer ? CommandText.list(Overview.options) : ""
  }

  private var exitStatus: String {
    if let codes = verb?.description.exitCodes { return CommandText.table(codes) }
    let own = commands.compactMap { verb in
      verb.description.exitCodes.map { codes in
        ".TP\n\(Roff.bold("peer \(verb.rawValue)"))\n" + Roff.prose(codes.sentence)
      }
    }
    let others = ".TP\nOther commands\n" + Roff.prose(ExitCodeTable.usual.sentence)
    let transfers = "A transfer, by 'peer receive' or 'peer send':"
    return own.joined() + others
      + (self == .peer ? ".PP\n" + Roff.prose(transfers) + CommandText.table(.transfer) : "")
  }

  private var examples: String {
    let lines = (verb.map { [$0] } ?? commands).flatMap(\.description.examples).map { "$ \($0)" }.joined(
      separator: "\n")
    return (self == .peer ? Roff.example(Overview.example) + ".PP\n" : "") + Roff.example(lines)
  }

  private var seeAlso: String {
    ManualPage.allCases.filter { $0 != self }.map(\.reference).joined(separator: " ,\n") + "\n"
  }

  private func notes(_ notes: [Surroundings.Note]) -> String {
    notes.map { ".TP\n\(Roff.bold($0.name))\n" + Roff.prose($0.text) }.joined()
  }

  /// A command's description as part of a manual page.
  struct CommandText {
    private let verb: Verb
    private let description: CommandDescription

    init(_ verb: Verb) {
      self.verb = verb
      description = verb.description
    }

    /// The description itself.
    var blocks: String {
      description.blocks.map { block in
        switch block {
        case .text(let text): Roff.prose(text)
        case .lines(let lines): Roff.example(lines)
        }
      }.joined(separator: ".PP\n")
    }

    /// The options with their descriptions.
    var options: String { Self.list(description.options) }

    /// The whole description, for a page with several commands.
    var whole: String {
      let forms = Self.synopsis("peer \(verb.rawValue)", description.forms)
      return forms + ".PP\n" + blocks + options
    }

    /// The forms of a command line, with the same words as in help texts.
    static func synopsis(_ command: String, _ forms: [[String]]) -> String {
      forms.map { words in
        let words = words.map { Roff.commandLine($0.split(separator: " ").map(String.init)) + "\n" }
        return ".SY \"\(Roff.escaped(command))\"\n" + words.joined() + ".YS\n.nh\n"
      }.joined()
    }

    static func list(_ options: [Option]) -> String {
      options.map { option in
        let short = option.short.map { Roff.bold($0) + ", " } ?? ""
        let label =
          short + ([Roff.bold(option.name)] + (option.value.map { [Roff.syntax($0)] } ?? [])).joined(separator: " ")
        return ".TP\n\(label)\n" + Roff.prose(option.text)
          + choices(option.choices)
      }.joined()
    }

    /// The exit codes, one below the other.
    static func table(_ codes: ExitCodeTable) -> String {
      let rows = codes.codes.map { code in
        ".TP\n\(Roff.bold(String(code.number)))\n"
          + Roff.prose(code.meaning + (code.isKept ? " *" : ""))
      }
      return rows.joined() + (codes.isTable ? ".PP\n" + Roff.prose("* " + ExitCodeTable.kept) : "")
    }

    private static func choices(_ choices: [ValueKind.Choice]) -> String {
      guard !choices.isEmpty else { return "" }
      let rows = choices.map { ".TP\n\(Roff.bold($0.word))\n" + Roff.prose($0.text) }
      return ".RS\n" + rows.joined() + ".RE\n"
    }
  }
}
