/// The words after a command and before the word that is being typed. Mistakes in them do not
/// prevent completions.
struct ArgumentsSoFar {
  private let verb: Verb
  private var given: Set<String> = []
  private var operands: [String] = []
  /// Whether `--` has ended the options.
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

  private func option(_ name: some StringProtocol) -> Option? { verb.options.first { $0.names.contains(String(name)) } }

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
    case .file, .path: .files
    case .directory: .directories
    case .choice(let choices), .word(let choices):
      .words(choices.map { .init(word: $0.word, meaning: Option.brief($0.text)) })
    case .app: .apps
    case .owner: .owners
    case .transfer: .transfers
    case .device: Self.canBeginAddress(typed) ? .devices : .words([])
    case .command: .words(commands)
    }
  }

  private var commands: [Completion.Candidate] {
    guard let first = operands.first else { return Completion.commands(in: nil) }
    return operands.count == 1 ? Verb(rawValue: first).map { Completion.commands(in: $0) } ?? [] : []
  }
}
