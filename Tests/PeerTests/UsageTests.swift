import Expectations
import MigrationEngine
import MigrationTransfer
import MigrationWire
import Testing

@testable import peer

/// Every usage error has one clause, a sentence as its hint, and exit code 2.
@Suite struct UsageTests {
  struct Mistake: Sendable, CustomTestStringConvertible {
    let words: [String]
    let message: String
    /// Part of the hint.
    let hint: String

    init(_ words: String..., message: String, hint: String) {
      self.words = words
      self.message = message
      self.hint = hint
    }

    var testDescription: String { words.joined(separator: " ") }
  }

  static let mistakes = [
    Mistake("recieve", message: "unknown command 'recieve'", hint: "Did you mean 'peer receive'?"),
    Mistake("frobnicate", message: "unknown command 'frobnicate'", hint: "peer --help"),
    Mistake("help", "sned", message: "unknown command 'sned'", hint: "Did you mean 'peer send'?"),
    Mistake("help", "send", "receive", message: "too many arguments: 'peer help' takes one command", hint: "peer help"),
    Mistake("--versoin", message: "unknown option --versoin", hint: "Did you mean --version?"),
    Mistake(
      "--version", "x", message: "--version takes no other arguments than --verbose", hint: "peer --version --verbose"),
    Mistake("--json", "receive", message: "the option --json must follow the command", hint: "Write 'peer "),
    Mistake("--to=h", "send", message: "the option --to=h must follow the command", hint: "Write 'peer "),
    Mistake("rec\u{1B}[2J", message: "unknown command 'rec\\u{1b}[2J'", hint: "peer --help"),

    Mistake(
      "receive", "a", "b", message: "unexpected argument 'b': 'peer receive' takes one directory", hint: "--help"),
    Mistake(
      "receive", "a", "--app", "x", message: "unexpected argument 'a': --app takes no directory", hint: "receive --help"
    ),
    Mistake("receive", "--replace", message: "--replace requires --app", hint: "--app ID"),
    Mistake("receive", "--keep", "--app=x", message: "--keep cannot be used with --app", hint: "receive --help"),
    Mistake(
      "receive", "--keep", "--code-file=c", message: "--code-file cannot be used with --keep",
      hint: "Remove one of them"),
    Mistake(
      "receive", "--code-file", "-", message: "--code-file: standard input cannot be used here",
      hint: "Write the code to a file first"),
    Mistake("assistant", "x", message: "unexpected argument 'x'", hint: "assistant --help"),
    Mistake("send", "a", "--ask", message: "--ask requires --everything and --json", hint: "at the terminal by itself"),
    Mistake(
      "send", "--everything", "--json", "--ask", "--code-file=c", message: "--ask cannot be used with --code-file",
      hint: "Remove one of them"),
    Mistake("code", message: "missing command after 'peer code'", hint: "peer code --help"),
    Mistake("code", "old", message: "unknown command 'peer code old'", hint: "peer code --help"),
    Mistake("code", "new", "x", message: "unexpected argument 'x'", hint: "code new --help"),
    Mistake("help", "code", "old", message: "unknown command 'peer code old'", hint: "peer code --help"),
    Mistake("credentials", message: "missing command after 'peer credentials'", hint: "credentials --help"),
    Mistake(
      "account", "lsit", message: "unknown command 'peer account lsit'",
      hint: "Did you mean 'peer account list'?"),
    Mistake("help", "account", "x", message: "unknown command 'peer account x'", hint: "peer account --help"),
    Mistake(
      "credentials", "list", "a", "b", message: "unexpected argument 'b': 'peer credentials list' takes one app",
      hint: "list --help"),
    Mistake("credentials", "remove", message: "missing argument: owner", hint: "credentials list"),
    Mistake(
      "credentials", "remove", "../x", message: "'../x' is not a valid owner of credentials", hint: "credentials list"),
    Mistake(
      "credentials", "remove", "a@", message: "'a@' is not a valid owner of credentials", hint: "credentials list"),
    Mistake("credentials", "remove", "a", "--label", message: "option --label requires a value", hint: "--label TEXT"),
    Mistake("account", "list", "x", message: "unexpected argument 'x'", hint: "account list --help"),
    Mistake(
      "account", "authorize", message: "missing argument: user", hint: "the identifier of the user"),
    Mistake(
      "account", "authorize", "a\nb", "--app=x", message: "$'a\\nb' is not a valid user identifier",
      hint: "at most 1024 bytes"),
    Mistake("account", "revoke", "u", message: "missing required option --app", hint: "peer app list"),
    Mistake("receive", "--option", "a=b", message: "--option requires --app", hint: "--app ID"),
    Mistake("receive", "--platform=x", message: "--platform requires --app", hint: "--app ID"),
    Mistake(
      "receive", "--app=x", "--platform=Andriod", message: "--platform: unknown platform 'Andriod'",
      hint: "Did you mean android? The known platforms are android and linux."),
    Mistake(
      "app", "check", "a", "--platform=linus", message: "--platform: unknown platform 'linus'",
      hint: "Did you mean linux?"),
    Mistake("app", "migrate", "a", "--to=b", "--as=Linux", message: "--as: unknown platform 'Linux'", hint: "linux"),
    Mistake("receive", "--app=x", "--option", "a", message: "--option: 'a' has no value", hint: "NAME=VALUE"),
    Mistake("receive", "--app=x", "--option", "=a", message: "--option: '' is not a valid name", hint: "NAME=VALUE"),
    Mistake(
      "receive", "--app=x", "--option=a=1", "--option=a=2", message: "--option: 'a' is given more than once",
      hint: "receive --help"),
    Mistake("receive", "--existing=keep", message: "--existing: invalid value 'keep'", hint: "keep-both"),
    Mistake(
      "receive", "--everything", "--existing=skip", message: "--existing cannot be used with --everything",
      hint: "--replace"),
    Mistake(
      "receive", "--app=x", "--existing", "replace", message: "--existing cannot be used with --app", hint: "--replace"),
    Mistake(
      "send", "--app=x", "a", "--app=x", "--to=h", message: "--app: 'x' is given more than once", hint: "once"),
    Mistake(
      "receive", "--everything", "--keep", message: "--keep cannot be used with --everything", hint: "moved once"),
    Mistake(
      "receive", "--everything", "--app=x", message: "--app cannot be used with --everything", hint: "Remove one"),
    Mistake("receive", "--at-once=2", message: "--at-once requires --keep", hint: "Add --keep"),
    Mistake("receive", "--keep", "--at-once=17", message: "--at-once: invalid number '17'", hint: "Write 1 to 16"),
    Mistake("receive", "--take-secrets", message: "--take-secrets requires --take-apps", hint: "Add --take-apps"),
    Mistake("send", "a", "--idle-limit=5", "--to=h", message: "--idle-limit requires --app", hint: "send --help"),
    Mistake("send", "a", "--as=android", "--to=h", message: "--as requires --app", hint: "send --help"),
    Mistake("send", "--app=x", "--as=", "--to=h", message: "option --as requires a value", hint: "PLATFORM[,STORE]"),
    Mistake("send", "--app=x", "--as=,a", "--to=h", message: "--as: missing platform", hint: "googlePlay"),
    Mistake(
      "send", "--app=x", "--as", String(repeating: "a", count: 1025), message: "--as: a name is too long",
      hint: "--as android"),
    Mistake(
      "send", "--app=x", "--idle-limit=never", message: "--idle-limit: invalid time 'never'", hint: "or off"),
    Mistake(
      "send", "a", "--compress=yes", "--to=h", message: "--compress: invalid value 'yes'", hint: "auto, always or never"
    ),
    Mistake(
      "send", "a", "--to=h", "--limit", "fast", message: "--limit: invalid rate 'fast'", hint: "500k, 20M or 1.5G"),
    Mistake("send", "a", "--to=h", "--limit", "5T", message: "--limit: invalid rate '5T'", hint: "500k, 20M or 1.5G"),
    Mistake("send", "a", "--to=h", "--limit=-5M", message: "--limit: invalid rate '-5M'", hint: "500k, 20M or 1.5G"),
    Mistake(
      "send", "a", "--to=h", "--limit=1.2.3M", message: "--limit: invalid rate '1.2.3M'", hint: "500k, 20M or 1.5G"),
    Mistake("send", "a", "--to=h", "--limit=M", message: "--limit: invalid rate 'M'", hint: "500k, 20M or 1.5G"),
    Mistake("send", "a", "--to=h", "--limit=0", message: "--limit: '0' is less than 1 kB a second", hint: "Write 1k"),
    Mistake(
      "send", "a", "--to=h", "--limit=9999G", message: "--limit: '9999G' is more than any network carries",
      hint: "Remove the option"),
    Mistake(
      "send", "a", "--to=h", "--streams=0", message: "--streams: invalid number '0'", hint: "1 to 64"),
    Mistake(
      "send", "a", "--to=h", "--streams=65", message: "--streams: invalid number '65'", hint: "1 to 64"),
    Mistake(
      "send", "a", "--to=h", "--streams=two", message: "--streams: invalid number 'two'", hint: "1 to 64"),
    Mistake(
      "send", "--app=x", "--owners", "--to=h", message: "--owners cannot be used with --app alone", hint: "send --help"),
    Mistake("receive", "--app=x", "--owners", message: "--owners cannot be used with --app", hint: "receive --help"),
    Mistake(
      "receive", "--app=x", "--set-id-bits", message: "--set-id-bits cannot be used with --app", hint: "receive --help"),
    Mistake(
      "send", "--app=x", "--idle-limit=0", "--to=h", message: "--idle-limit: the time must not be 0", hint: "positive"),
    Mistake(
      "send", "--app=x", "--exclude", "a", "--to=h", message: "--exclude cannot be used with --app alone",
      hint: "exporter"),
    Mistake(
      "send", "--app=x", "--exclude-from=-", "--to=h", message: "--exclude-from cannot be used with --app alone",
      hint: "exporter"),
    Mistake(
      "send", "--app=x", "--exclude-caches", "--to=h", message: "--exclude-caches cannot be used with --app alone",
      hint: "exporter"),
    Mistake(
      "send", "--app=x", "--one-file-system", "--to=h", message: "--one-file-system cannot be used with --app alone",
      hint: "exporter"),
    Mistake(
      "send", "a", "--exclude-from=-", "--code-file=-", "--to=h", message: "standard input cannot be read twice",
      hint: "to a file"),
    Mistake(
      "send", "a", "--exclude-from=-", "--exclude-from", "-", "--to=h", message: "standard input cannot be read twice",
      hint: "to a file"),
    Mistake("send", "a", "--exclude", "--to=h", message: "option --exclude requires a value", hint: "--exclude=VALUE"),
    Mistake("receive", "", message: "the directory to receive into is an empty string", hint: "omit it"),
    Mistake(
      "receive", "--lisen", "1", message: "unknown option --lisen", hint: "Did you mean --listen?"),
    Mistake(
      "discover", "here", message: "unexpected argument 'here'",
      hint: "peer discover --help"),
    Mistake("discover", "--for", "soon", message: "--for: invalid time 'soon'", hint: "90s, 10m, 2h"),
    Mistake("discover", "--for", "0", message: "--for: '0' is too short", hint: "90s, 10m, 2h"),
    Mistake("relay", message: "missing option: --token-file", hint: "it is made if it is missing"),
    Mistake("relay", "--token-file", "f", "here", message: "unexpected argument 'here'", hint: "peer relay --help"),
    Mistake(
      "relay", "--token-file", "f", "--name", "a:b:c",
      message: "--name: 'a:b:c' has more than one colon; an IPv6 "
        + "address with a port is written [ADDRESS]:PORT", hint: "as users write it after --via"),
    Mistake("send", "a", "--via", ":1", message: "--via: missing host", hint: "HOST:PORT"),
    Mistake("send", "a", "--via", "h:0", message: "--via: port 0 is not valid", hint: "HOST:PORT"),
    Mistake("send", "a", "--via-token-file", "f", message: "--via-token-file requires --via", hint: "Add --via HOST"),
    Mistake("receive", "--via", "h", "--from", "::1", message: "--via cannot be used with --from", hint: "any address"),
    Mistake(
      "receive", "--via", "h", "--code-file", "f", message: "--via cannot be used with --code-file",
      hint: "is not known before"),
    Mistake("help", "--json", message: "unknown option --json", hint: "peer help --help"),
    Mistake("help", "--man", "sned", message: "unknown command 'sned'", hint: "Did you mean 'peer send'?"),
    Mistake("completion", message: "missing argument: shell", hint: "bash, zsh, fish"),
    Mistake("completion", "tcsh", message: "unknown shell 'tcsh'", hint: "bash, zsh, fish"),
    Mistake(
      "completion", "bash", "zsh", message: "unexpected argument 'zsh': 'peer completion' takes one shell",
      hint: "bash, zsh, fish"),
    Mistake("resume", message: "missing command after 'peer resume'", hint: "peer resume list"),
    Mistake("resume", "lst", message: "unexpected argument 'lst'", hint: "peer resume --help"),
    Mistake("resume", "list", "x", message: "unexpected argument 'x'", hint: "peer resume --help"),
    Mistake("forget", message: "missing argument: ID", hint: "peer resume list"),
    Mistake("forget", "abcd", "--older-than", "1d", message: "--older-than takes no ID", hint: "not both"),
    Mistake("forget", "--older-than", "x", message: "--older-than: invalid time 'x'", hint: "14d"),
    Mistake("forget", "abcd", "ef01", message: "'peer forget' takes one ID", hint: "peer resume list"),
    Mistake("forget", "abc", message: "'abc' is too short for an ID", hint: "at least 4"),
    Mistake("forget", "wxyz", message: "'wxyz' is not a transfer's ID", hint: "peer resume list"),
    Mistake(
      "receive", "--give-up-after", "soon", message: "--give-up-after: invalid time 'soon'", hint: "90s, 10m, 2h"),
    Mistake("receive", "--give-up-after=-5", message: "--give-up-after: invalid time '-5'", hint: "90s, 10m, 2h"),
    Mistake("receive", "--give-up-after", "1w", message: "--give-up-after: invalid time '1w'", hint: "90s, 10m, 2h"),
    Mistake(
      "receive", "--give-up-after", "721h", message: "--give-up-after: '721h' is longer than 30 days", hint: "shorter"),
    Mistake("receive", "--max-size", "much", message: "--max-size: invalid size 'much'", hint: "1.5G or 2T"),
    Mistake("receive", "--max-size", "0", message: "--max-size: invalid size '0'", hint: "1.5G or 2T"),
    Mistake("receive", "--lab", "x", message: "unknown option --lab", hint: "Did you mean --label?"),
    Mistake("receive", "--to", "h", message: "unknown option --to", hint: "--into"),
    Mistake("receive", "-x", message: "unknown option -x", hint: "peer receive --help"),
    Mistake("receive", "--json=1", message: "option --json takes no value", hint: "peer receive --help"),
    Mistake("receive", "--listen", message: "option --listen requires a value", hint: "--listen [HOST:]PORT"),
    Mistake("receive", "--listen", "--json", message: "option --listen requires a value", hint: "--listen [HOST:]PORT"),
    Mistake("receive", "--listen=", message: "option --listen requires a value", hint: "--listen [HOST:]PORT"),
    Mistake("receive", "--listen", "", message: "option --listen requires a value", hint: "--listen [HOST:]PORT"),
    Mistake(
      "receive", "--from", "old-laptop", message: "--from: 'old-laptop' is not a numeric address", hint: "192.0.2.0/24"),
    Mistake(
      "receive", "--from=192.0.2.0/33", message: "--from: '/33' is not a number of bits from 0 to 32",
      hint: "192.0.2.0/24"),
    Mistake(
      "receive", "--from=::1/x", message: "--from: '/x' is not a number of bits from 0 to 128", hint: "2001:db8::/64"),
    Mistake("receive", "--listen=1", "--listen=2", message: "option --listen is given more than once", hint: "--help"),
    Mistake(
      "receive", "--label", String(repeating: "x", count: 256), message: "--label: the text is too long", hint: "255"),

    Mistake("app", message: "missing command after 'peer app'", hint: "peer app --help"),
    Mistake(
      "app", "instal", "x", message: "unknown command 'peer app instal'", hint: "Did you mean 'peer app install'?"),
    Mistake("app", "frob", message: "unknown command 'peer app frob'", hint: "peer app --help"),
    Mistake("app", "--json", "list", message: "unknown option --json", hint: "peer app --help"),
    Mistake("app list", message: "unknown command 'app list'", hint: "Did you mean 'peer app list'?"),
    Mistake("help", "app", "frob", message: "unknown command 'peer app frob'", hint: "peer app --help"),
    Mistake(
      "help", "app", "list", "x", message: "too many arguments: 'peer help' takes one command", hint: "peer help"),
    Mistake("app", "install", message: "missing argument: bundle", hint: "directory"),
    Mistake("app", "install", "", message: "missing argument: bundle", hint: "directory"),
    Mistake(
      "app", "install", "a", "b", message: "unexpected argument 'b': 'peer app install' takes one bundle",
      hint: "peer app install --help"),
    Mistake("app", "install", "a", "--clear", message: "unknown option --clear", hint: "--help"),
    Mistake("app", "list", "x", message: "unexpected argument 'x'", hint: "peer app list --help"),
    Mistake("app", "remove", message: "missing argument: app", hint: "peer app list"),
    Mistake(
      "app", "remove", "a", "b", message: "unexpected argument 'b': 'peer app remove' takes one app", hint: "--help"),
    Mistake("app", "status", message: "missing argument: app", hint: "peer app list"),
    Mistake("app", "status", "a", "--claer", message: "unknown option --claer", hint: "--clear?"),
    Mistake("app", "new", message: "missing argument: folder", hint: "an empty folder"),
    Mistake(
      "app", "new", "a", "b", message: "unexpected argument 'b': 'peer app new' takes one folder", hint: "--help"),
    Mistake(
      "app", "new", "a", "--id=x..y", message: "--id: 'x..y' is not a valid identifier for an app",
      hint: "no two dots in a row"),
    Mistake(
      "app", "new", "a", "--id", String(repeating: "x", count: 191),
      message: "--id: '\(String(repeating: "x", count: 191))' is not a valid identifier for an app", hint: "at most 190"
    ),
    Mistake("app", "check", message: "missing argument: bundle", hint: "directory"),
    Mistake("app", "migrate", "a", message: "missing required option --to", hint: "--to ./Notes.app"),
    Mistake("app", "migrate", "a", "--to=b", "--as", ",x", message: "--as: missing platform", hint: "android"),
    Mistake(
      "app", "migrate", "a", "--to=b", "--option", "x", message: "--option: 'x' has no value", hint: "NAME=VALUE"),
    Mistake(
      "receive", "--app", "a", "--no-confine", message: "unknown option --no-confine",
      hint: "peer receive"),
    Mistake(
      "send", "--app", "a", "--no-confine", message: "unknown option --no-confine", hint: "peer send"),
    Mistake("app", "run", message: "missing argument: app", hint: "peer app list"),
    Mistake("app", "run", "--", message: "missing argument: app", hint: "peer app list"),
    Mistake("app", "run", "--json", "a", message: "unknown option --json", hint: "peer app run --help"),

    Mistake("send", "--to", "h", message: "missing argument: PATH", hint: "peer send Documents"),
    Mistake("send", "a", "--to", ":5", message: "--to: missing host", hint: "--to 192.0.2.7"),
    Mistake("send", "a", "--to", "h:0", message: "--to: port 0 is not valid", hint: "--to 192.0.2.7"),
    Mistake("send", "", "--to=h", message: "one of the paths is an empty string", hint: "variable"),
    Mistake("send", "-", "--to=h", message: "standard input cannot be sent", hint: "./-"),
    Mistake("send", "//", "--to=h", message: "'//' has no name for the destination", hint: "/home"),
    Mistake("send", "a/x", "b/x/", "--to=h", message: "'a/x' and 'b/x/' would both arrive as 'x'", hint: "directory"),
    Mistake("send", "x", "x", "--to=h", message: "'x' and 'x' would both arrive as 'x'", hint: "separately"),
    Mistake(
      "send", "a", "--to=h", "--code", "4829-1367",
      message: "--code is not an option: every user of this device could read a code on the command line",
      hint: "--code-file FILE"),
    Mistake(
      "send", "a", "--code=48291367",
      message: "--code is not an option: every user of this device could read a code on the command line",
      hint: "Type the code when asked"),
  ]

  @Test(arguments: mistakes)
  func `a usage error has a message and a hint`(mistake: Mistake) {
    let failure = #expect(throws: Failure.self) { try Command(mistake.words.map { Array($0.utf8) }) }
    expect(failure?.kind, is: .usage)
    expect(failure?.message, is: mistake.message)
    let hint = failure?.hint ?? "no hint"
    expect(hint.contains(mistake.hint), "\(hint)")
    // A command to copy comes last, and has no full stop.
    expect(hint.first?.isLowercase == false && [".", "?", ")"].contains(hint.last), "\(hint)")
  }

  @Test(arguments: ["h:99999", "h:+1", "a b", "fe80::1:x", "[::1"])
  func `an invalid address is refused before any question`(text: String) {
    let failure = #expect(throws: Failure.self) {
      try Command(["send", "a", "--to", text].map { Array($0.utf8) })
    }
    expect(failure?.kind, is: .usage)
    expect(failure?.message.hasPrefix("--to: "), is: true)
  }

  @Test func `a value that is not text is escaped`() {
    let words = ["receive", "--label"].map { Array($0.utf8) } + [[0x61, 0xFF]]
    let failure = #expect(throws: Failure.self) { try Command(words) }
    expect(failure?.message, is: "the value of --label is not UTF-8: $'a\\xff'")
  }

  @Test(
    arguments: [
      ("--listne", "--listen"), ("--jsn", "--json"), ("--too", "--to"), ("--t", "--to"), ("--code-fil", "--code-file"),
      ("--codefile", "--code-file"), ("--frobnicate", nil), ("-", nil),
    ] as [(String, String?)])
  func `the nearest option is suggested, if one is near`(typed: String, expected: String?) {
    let names = Set(Verb.allCases.flatMap(\.options).map(\.name)).sorted()
    expect(Suggestion.closest(to: typed, among: names), is: expected)
  }
}
