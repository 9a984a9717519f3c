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
}

/// A command of the program, and what may stand behind it.
enum Verb: String, CaseIterable, Sendable {
  case receive
  case send
  case resume
  case forget

  /// Every option that it takes; each is described in its help text.
  var options: [Option] {
    let common: [Option] = [
      .value("--give-up-after", "TIME"), .value("--label", "TEXT"), .flag("--json"), .flag("--help"),
    ]
    return switch self {
    case .receive:
      [
        .value("--listen", "[HOST:]PORT"), .value("--app", "ID"), .value("--platform", "NAME"),
        Option(name: "--option", value: "NAME=VALUE", isRepeatable: true), .flag("--replace"),
      ] + common
    case .send:
      [
        .value("--to", "HOST[:PORT]"), .value("--code-file", "FILE"), .value("--app", "ID"),
        .value("--idle-limit", "TIME"),
      ] + common
    case .resume, .forget: [.flag("--json"), .flag("--help")]
    }
  }
}
