/// One option of a command.
struct Option: Equatable, Sendable {
  /// As it is typed, dashes included.
  let name: String
  /// What its value is called in the help text; nil for an option that takes none.
  let value: String?
  /// Whether it may be given more than once.
  var isRepeatable = false

  /// An option without a value.
  static func flag(_ name: String) -> Option { Option(name: name, value: nil) }

  /// An option with a value.
  static func value(_ name: String, _ value: String) -> Option { Option(name: name, value: value) }

  /// An option with a value that may be given more than once.
  static func repeatable(_ name: String, _ value: String) -> Option {
    Option(name: name, value: value, isRepeatable: true)
  }
}

/// A command of the program, and what may stand behind it.
enum Verb: String, CaseIterable, Sendable {
  case receive
  case send
  case discover
  case resume
  case forget
  case app
  case appInstall = "app install"
  case appList = "app list"
  case appRemove = "app remove"
  case appRun = "app run"
  case appStatus = "app status"
  case code
  case codeNew = "code new"

  /// Finds the command at the start of some words, and what stands behind it; a command may be two words.
  init?(_ words: [String]) {
    // One word with a blank in it is no command.
    guard let first = words.first, !first.contains(" ") else { return nil }
    guard let verb = Verb(rawValue: words.prefix(2).joined(separator: " ")) ?? Verb(rawValue: first) else { return nil }
    self = verb
  }

  /// How many words it is.
  var length: Int { rawValue.contains(" ") ? 2 : 1 }

  /// Every option that it takes; each is described in its help text.
  var options: [Option] {
    let common: [Option] = [
      .value("--give-up-after", "TIME"), .value("--label", "TEXT"), .flag("--json"), .flag("--help"),
    ]
    return switch self {
    case .receive:
      [
        .value("--listen", "[HOST:]PORT"), .repeatable("--from", "ADDRESS[/BITS]"), .flag("--no-announce"),
        .flag("--ask"), .flag("--keep"), .value("--code-file", "FILE"),
        .value("--app", "ID"), .value("--platform", "NAME"),
        .repeatable("--option", "NAME=VALUE"), .flag("--replace"), .value("--existing", "MODE"),
        .flag("--owners"), .flag("--set-id-bits"), .flag("--verbose"),
      ] + common
    case .send:
      [
        .value("--to", "HOST[:PORT]"), .value("--code-file", "FILE"), .value("--app", "ID"),
        .value("--idle-limit", "TIME"), .repeatable("--exclude", "PATTERN"), .repeatable("--exclude-from", "FILE"),
        .flag("--exclude-caches"), .flag("--owners"), .value("--compress", "WHEN"), .value("--limit", "RATE"),
        .value("--streams", "N"),
      ] + common
    case .discover: [.value("--for", "TIME"), .flag("--json"), .flag("--help")]
    case .resume, .forget, .appInstall, .appList, .appRemove: [.flag("--json"), .flag("--help")]
    case .appStatus: [.flag("--clear"), .flag("--json"), .flag("--help")]
    case .codeNew: [.value("--code-file", "FILE"), .flag("--help")]
    case .app, .appRun, .code: [.flag("--help")]
    }
  }
}
