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

  /// The kind of an offer.
  enum Offer: Equatable {
    case words([Candidate])
    /// Files and directories, which the shell finds itself.
    case files
    case directories
    /// Words that this device knows or finds.
    case apps
    case owners
    case transfers
    case devices
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

  /// Finds the completions of the last word.
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

  /// After the app's identifier, all words are the app's.
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
