import MigrationWire

/// What can stand at the end of a command line that is being typed.
///
/// The scripts of all shells ask for it by a command that no help text names: `peer completion --words WORD...`, with the words
/// behind `peer` up to the cursor, the last one as far as it is typed. So everything is decided here, and the scripts only show it.
/// With `--offer` in the place of `--words` only the first line of the answer comes, at once: no device is looked for.
struct Completion: Equatable {
  /// Something that can be written.
  struct Candidate: Equatable {
    let word: String
    /// What it means, in a few words.
    let meaning: String
  }

  /// What can be written.
  enum Offer: Equatable {
    case words([Candidate])
    /// Files and directories, which the shell finds by itself.
    case files
    case directories
    /// What this device knows, or finds.
    case apps
    case owners
    case transfers
    case devices
  }

  /// What stands in front of it in the same word, as `--to=`.
  var prefix = ""
  var offer: Offer

  /// What a script asks.
  struct Request: Equatable {
    let words: [[UInt8]]
    /// Whether the candidates are wanted, and not only what kind they are of.
    let isWhole: Bool

    /// Nil where what stands behind `peer completion` is none.
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

  /// Finds what can stand in the place of the last word.
  init(_ words: [[UInt8]]) {
    let words = words.map { VisibleText.of($0) }
    let typed = words.last ?? ""
    let before = Array(words.dropLast())
    guard let first = before.first else {
      self.init(offer: .words(Self.isOption(typed) ? Self.candidates(Overview.options) : Self.commands(in: nil)))
      return
    }
    guard let verb = Overview.help.names.contains(first) ? .help : Verb(before) else {
      self.init(offer: .words([]))
      return
    }
    let rest = before.dropFirst(verb.length)
    switch verb {
    case .appRun: self = Self.ofRun(Array(rest), typed)
    case .app, .credentials, .account, .code: self = Self.ofGroup(verb, isNamed: !rest.isEmpty, typed)
    default: self = ArgumentsSoFar(rest, of: verb).completion(typed)
    }
  }

  init(prefix: String = "", offer: Offer) {
    self.prefix = prefix
    self.offer = offer
  }

  /// Behind the app's identifier everything is the app's.
  private static func ofRun(_ rest: [String], _ typed: String) -> Completion {
    let words = rest.first == "--" ? Array(rest.dropFirst()) : rest
    guard words.isEmpty else { return Completion(offer: .files) }
    let isOption = isOption(typed) && rest.isEmpty
    return Completion(offer: isOption ? .words(candidates(Verb.appRun.options)) : .apps)
  }

  private static func ofGroup(_ verb: Verb, isNamed: Bool, _ typed: String) -> Completion {
    guard !isNamed else { return Completion(offer: .words([])) }
    return Completion(offer: .words(isOption(typed) ? candidates(verb.options) : commands(in: verb)))
  }

  /// The commands of a group, or those that stand at the beginning.
  static func commands(in group: Verb?) -> [Candidate] {
    Verb.allCases.filter { $0.group == group }.map { Candidate(word: $0.name, meaning: $0.description.summary) }
  }

  static func candidates(_ options: [Option]) -> [Candidate] {
    options.map { Candidate(word: $0.name, meaning: $0.brief) }
  }

  /// Whether a word can only be an option; one dash alone is also standard input.
  static func isOption(_ word: String) -> Bool { word.hasPrefix("-") }
}
