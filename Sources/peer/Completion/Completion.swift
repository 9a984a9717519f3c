import MigrationDiscovery
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationVault
import MigrationWire

/// The completions at the end of an unfinished command line.
///
/// The scripts of all shells ask for them with a command that no help text names:
/// `peer completion --words WORD...`. The words are those after `peer` up to the cursor; the last
/// word is as far as it is typed. All decisions are made here; the scripts only show the answer.
/// With `--offer` instead of `--words`, only the first line of the answer comes, at once: devices
/// are not searched for.
struct Completion: Equatable {
  /// A word that is offered.
  struct Candidate: Equatable {
    let word: String
    /// Its meaning, in a few words.
    let meaning: String
  }

  enum Offer: Equatable {
    case words([Candidate])
    /// Words that this device knows or finds, or files, which the shell finds itself.
    case values(ValueKind)
  }

  /// The part of the same word before it, as `--to=`.
  var prefix = ""
  var offer: Offer

  /// The question of a script.
  struct Request: Equatable {
    let words: [[UInt8]]
    /// Whether the candidates are wanted, and not only their kind.
    let isWhole: Bool

    /// Nil if the words after `peer completion` are no question.
    init?(_ words: [[UInt8]]) {
      guard let first = words.first, ["--words", "--offer"].contains(VisibleText.of(first)) else { return nil }
      self.words = Array(words.dropFirst())
      isWhole = first == Array("--words".utf8)
    }

    var answer: String {
      let completion = Completion(words)
      return completion.firstLine + (isWhole ? completion.candidateLines : "")
    }
  }

  /// After the app's identifier, all words are the app's.
  private static func ofRun(_ rest: [String], _ typed: String) -> Completion {
    let words = rest.first == "--" ? Array(rest.dropFirst()) : rest
    guard words.isEmpty else { return Completion(offer: .values(.file)) }
    let isOption = isOption(typed) && rest.isEmpty
    return Completion(offer: isOption ? .words(candidates(Verb.appRun.options)) : .values(.app))
  }

  private static func ofGroup(_ verb: Verb, isNamed: Bool, _ typed: String) -> Completion {
    guard !isNamed else { return Completion(offer: .words([])) }
    return Completion(offer: .words(isOption(typed) ? candidates(verb.options) : commands(in: verb)))
  }

  /// The commands of a group, or the first words of all commands.
  static func commands(in group: Verb?) -> [Candidate] {
    Verb.allCases.filter { $0.group == group }.map { Candidate(word: $0.name, meaning: $0.description.summary) }
  }

  static func candidates(_ options: [Option]) -> [Candidate] {
    options.map { Candidate(word: $0.name, meaning: $0.brief) }
  }

  /// Whether a word can only be an option; a single dash is also standard input.
  static func isOption(_ word: String) -> Bool { word.hasPrefix("-") }
}

extension Completion {
  /// The seconds of a search for devices while a person waits for the list.
  private static let lookingTime = 1.0

  /// Finds the completions of the last word.
  init(_ words: [[UInt8]]) {
    let words = words.map { VisibleText.of($0) }
    let typed = words.last ?? ""
    let before = Array(words.dropLast())
    guard let first = before.first else {
      self.init(offer: .words(Self.isOption(typed) ? Self.candidates(Overview.options) : Self.commands(in: nil)))
      return
    }
    if before == ["--version"] {
      self.init(offer: .words(Self.candidates([Overview.verbose])))
      return
    }
    guard let verb = Overview.help.names.contains(first) ? .help : Verb(before) else {
      self.init(offer: .words([]))
      return
    }
    let rest = before.dropFirst(verb.length)
    switch verb {
    case .appRun: self = Self.ofRun(Array(rest), typed)
    case .app, .credentials, .account, .code, .device: self = Self.ofGroup(verb, isNamed: !rest.isEmpty, typed)
    default: self = ArgumentsSoFar(rest, of: verb).completion(typed)
    }
  }

  /// The kind of the offer (`words`, `files` or `directories`), a tab, and the prefix.
  var firstLine: String {
    let kind =
      switch offer {
      case .values(.file), .values(.path): "files"
      case .values(.directory): "directories"
      default: "words"
      }
    return "\(kind)\t\(prefix)\n"
  }

  /// A line for each offered word: the word, a tab, and its meaning.
  ///
  /// Failures give no candidates and no message, since the user is in the middle of a line. For the
  /// same reason, nothing is written and no lock is waited for.
  var candidateLines: String {
    let candidates: [Candidate] =
      switch offer {
      case .words(let words): words
      case .values(let kind): (try? Self.candidates(of: kind)) ?? []
      }
    return candidates.map { "\($0.word)\t\($0.meaning)\n" }.joined()
  }

  private static func candidates(of kind: ValueKind) throws -> [Candidate] {
    switch kind {
    case .app:
      return try AppHome.glance(at: try Home.path()).apps.map { app in
        let name = app.bundle.displayName.map { "\(VisibleText.of($0)) " } ?? ""
        return Candidate(word: app.identifier, meaning: name + VisibleText.of(app.bundle.version))
      }
    case .owner: return try withVault { vault throws(Failure) in try vault.owners().map { Candidate($0) } }
    case .transfer: return try TransferStore.ofUser().list().candidates
    case .knownDevice:
      return try TransferStore.ofUser().devices().map {
        Candidate(word: String($0.identifier.prefix(8)), meaning: VisibleText.of($0.shownName))
      }
    case .device:
      return try DiscoverOptions.look(for: lookingTime).compactMap { device in
        device.addresses.first.map { address in
          Candidate(
            word: Invitation.target(address.hostDescription, address.port), meaning: VisibleText.of(device.label))
        }
      }
    case .entry:
      let names = try Directory.open(try Home.ofUser(hint: "")).names()
      return names.filter { $0.first != UInt8(ascii: ".") }.compactMap { String(validating: $0, as: UTF8.self) }
        .sorted().map { Candidate(word: $0, meaning: "") }
    case .text, .file, .directory, .path, .choice, .word, .command: return []
    }
  }

  /// The words after a command and before the word that is being typed. Mistakes in them do not
  /// prevent completions.
  struct ArgumentsSoFar {
    private let verb: Verb
    private var given: Set<String> = []
    private var operands: [String] = []
    private var hasEnded = false
    /// The option that waits for its value.
    private var open: Option?

    init(_ words: some Sequence<String>, of verb: Verb) {
      self.verb = verb
      for word in words { take(word) }
    }

    private mutating func take(_ word: String) {
      let isValue = open != nil && !isOption(word)
      open = nil
      if isValue { return }
      if hasEnded || !(isOption(word)) {
        operands.append(word)
      } else if word == "--" {
        hasEnded = true
      } else {
        let name = word.prefix { $0 != "=" }
        let option = option(name)
        given.insert(option?.name ?? String(name))
        open = name.count == word.count && option?.value != nil ? option : nil
      }
    }

    /// Whether the parser takes a word for an option: a single dash means standard input.
    private func isOption(_ word: String) -> Bool { word.hasPrefix("-") && word.count > 1 }

    /// The completions for a partly typed word.
    func completion(_ typed: String) -> Completion {
      if let open, !isOption(typed) { return Completion(offer: offer(open.kind, typed)) }
      if !hasEnded, typed.hasPrefix("-") {
        guard let equals = typed.firstIndex(of: "=") else { return Completion(offer: .words(optionsLeft)) }
        guard let option = option(typed[..<equals]), option.value != nil else { return Completion(offer: .words([])) }
        let value = typed[typed.index(after: equals)...]
        return Completion(prefix: String(typed[...equals]), offer: offer(option.kind, value))
      }
      if let operand { return Completion(offer: offer(operand.value, typed)) }
      return Completion(offer: .words(hasEnded ? [] : optionsLeft))
    }

    private func option(_ name: some StringProtocol) -> Option? {
      verb.options.first { $0.names.contains(String(name)) }
    }

    /// The options that may still follow.
    private var optionsLeft: [Completion.Candidate] {
      Completion.candidates(verb.options.filter { $0.isRepeatable || !given.contains($0.name) })
    }

    /// The next operand.
    private var operand: Operand? {
      // The place of an app's data is fixed: there is no path.
      if given.contains("--app") { return nil }
      let all = verb.description.operands
      if operands.count < all.count { return all[operands.count] }
      // A command may be two words.
      if let last = all.last, last.isRepeatable || last.value == .command { return last }
      return nil
    }

    /// Whether the typed text can begin an address: then a search for devices is worth a second.
    private static func canBeginAddress(_ typed: some StringProtocol) -> Bool {
      let digits = typed.drop { $0 == "[" }.prefix { !".:%]".contains($0) }
      return digits.allSatisfy { $0.isASCII && $0.isHexDigit }
    }

    private func offer(_ kind: ValueKind, _ typed: some StringProtocol) -> Completion.Offer {
      switch kind {
      case .text: .words([])
      case .choice(let choices), .word(let choices):
        .words(choices.map { .init(word: $0.word, meaning: Option.brief($0.text)) })
      case .device where !Self.canBeginAddress(typed): .words([])
      case .command: .words(commands)
      default: .values(kind)
      }
    }

    private var commands: [Completion.Candidate] {
      guard let first = operands.first else { return Completion.commands(in: nil) }
      return operands.count == 1 ? Verb(rawValue: first).map { Completion.commands(in: $0) } ?? [] : []
    }
  }
}
