import MigrationEngine
import MigrationTransfer
import Testing

@testable import peer

/// Every mistake on the command line has one sentence, one hint and exit code 2.
@Suite struct UsageTests {
  struct Mistake: Sendable, CustomTestStringConvertible {
    let words: [String]
    let message: String
    /// A part of the hint.
    let hint: String

    init(_ words: String..., message: String, hint: String) {
      self.words = words
      self.message = message
      self.hint = hint
    }

    var testDescription: String { words.joined(separator: " ") }
  }

  static let mistakes = [
    Mistake("recieve", message: "peer has no command 'recieve'", hint: "did you mean 'peer receive'?"),
    Mistake("frobnicate", message: "peer has no command 'frobnicate'", hint: "peer --help"),
    Mistake("help", "sned", message: "peer has no command 'sned'", hint: "did you mean 'peer send'?"),
    Mistake("help", "send", "receive", message: "'peer help' takes one command at most", hint: "peer help"),
    Mistake("--versoin", message: "peer has no option '--versoin'", hint: "did you mean --version?"),
    Mistake("--version", "x", message: "--version stands alone", hint: "peer --version"),
    Mistake("--json", "receive", message: "'--json' stands before the command", hint: "the command first"),
    Mistake("--to=h", "send", message: "'--to=h' stands before the command", hint: "the command first"),
    Mistake("rec\u{1B}[2J", message: "peer has no command 'rec\\u{1b}[2J'", hint: "peer --help"),

    Mistake(
      "receive", "a", "b", message: "'peer receive' takes one directory, and 'b' is a second one", hint: "--help"),
    Mistake(
      "receive", "a", "--app", "x", message: "an app's data has its place: 'a' is too much", hint: "receive --help"),
    Mistake("receive", "--replace", message: "--replace is for apps only", hint: "--app ID"),
    Mistake("receive", "--keep", "--app=x", message: "--keep is for folders only", hint: "receive --help"),
    Mistake(
      "receive", "--keep", "--code-file=c", message: "--code-file is for one transfer, and --keep takes many",
      hint: "leave one of them out"),
    Mistake(
      "receive", "--code-file", "-", message: "--code-file names a file here, and not standard input",
      hint: "write what comes to a file first"),
    Mistake("code", message: "'peer code' needs 'new' behind it", hint: "peer code new"),
    Mistake("code", "old", message: "'peer code' has no command 'old'", hint: "peer code new"),
    Mistake("code", "new", "x", message: "'peer code new' takes no 'x'", hint: "code new --help"),
    Mistake("help", "code", "old", message: "'peer code' has no command 'old'", hint: "peer code new"),
    Mistake("credentials", message: "'peer credentials' needs a command behind it", hint: "credentials --help"),
    Mistake(
      "account", "lsit", message: "'peer account' has no command 'lsit'",
      hint: "did you mean 'peer account list'?"),
    Mistake("help", "account", "x", message: "'peer account' has no command 'x'", hint: "peer account --help"),
    Mistake(
      "credentials", "list", "a", "b", message: "'peer credentials list' takes one app, and 'b' is a second one",
      hint: "list --help"),
    Mistake("credentials", "remove", message: "'peer credentials remove' needs the owner", hint: "credentials list"),
    Mistake(
      "credentials", "remove", "../x", message: "'../x' can be no owner of credentials", hint: "credentials list"),
    Mistake("credentials", "remove", "a@", message: "'a@' can be no owner of credentials", hint: "credentials list"),
    Mistake("credentials", "remove", "a", "--label", message: "--label needs a value", hint: "--label TEXT"),
    Mistake("account", "list", "x", message: "'peer account list' takes no 'x'", hint: "account list --help"),
    Mistake(
      "account", "authorize", message: "'peer account authorize' needs the user", hint: "the identifier of the user"),
    Mistake(
      "account", "authorize", "a\nb", "--app=x", message: "$'a\\nb' can be no user's identifier",
      hint: "at most 1024 bytes"),
    Mistake("account", "revoke", "u", message: "missing required option --app", hint: "peer app list"),
    Mistake("receive", "--option", "a=b", message: "--option is for apps only", hint: "--app ID"),
    Mistake("receive", "--platform=x", message: "--platform is for apps only", hint: "--app ID"),
    Mistake("receive", "--app=x", "--option", "a", message: "--option: 'a' has no value", hint: "NAME=VALUE"),
    Mistake("receive", "--app=x", "--option", "=a", message: "--option: '' is no name", hint: "NAME=VALUE"),
    Mistake(
      "receive", "--app=x", "--option=a=1", "--option=a=2", message: "--option: 'a' is given twice",
      hint: "receive --help"),
    Mistake("receive", "--existing=keep", message: "--existing: 'keep' is none of its modes", hint: "keep-both"),
    Mistake(
      "receive", "--app=x", "--existing", "replace", message: "--existing is for folders only", hint: "--replace"),
    Mistake("send", "a", "--app=x", "--to=h", message: "either the data of x is sent, or 'a'", hint: "send --help"),
    Mistake("send", "a", "--idle-limit=5", "--to=h", message: "--idle-limit is for apps only", hint: "send --help"),
    Mistake("send", "a", "--as=android", "--to=h", message: "--as is for apps only", hint: "send --help"),
    Mistake("send", "--app=x", "--as=", "--to=h", message: "--as needs a value", hint: "PLATFORM[,STORE]"),
    Mistake("send", "--app=x", "--as=,a", "--to=h", message: "--as: the platform is missing", hint: "googlePlay"),
    Mistake(
      "send", "--app=x", "--as", String(repeating: "a", count: 1025), message: "--as: a name is too long",
      hint: "--as android"),
    Mistake(
      "send", "--app=x", "--idle-limit=never", message: "--idle-limit: 'never' is not a time", hint: "or off"),
    Mistake(
      "send", "a", "--compress=yes", "--to=h", message: "--compress: 'yes' is no answer", hint: "auto, always or never"),
    Mistake(
      "send", "a", "--to=h", "--limit", "fast", message: "--limit: 'fast' is not a rate", hint: "500k, 20M or 1.5G"),
    Mistake("send", "a", "--to=h", "--limit", "5T", message: "--limit: '5T' is not a rate", hint: "500k, 20M or 1.5G"),
    Mistake("send", "a", "--to=h", "--limit=-5M", message: "--limit: '-5M' is not a rate", hint: "500k, 20M or 1.5G"),
    Mistake(
      "send", "a", "--to=h", "--limit=1.2.3M", message: "--limit: '1.2.3M' is not a rate", hint: "500k, 20M or 1.5G"),
    Mistake("send", "a", "--to=h", "--limit=M", message: "--limit: 'M' is not a rate", hint: "500k, 20M or 1.5G"),
    Mistake("send", "a", "--to=h", "--limit=0", message: "--limit: '0' is less than 1 kB a second", hint: "write 1k"),
    Mistake(
      "send", "a", "--to=h", "--limit=9999G", message: "--limit: '9999G' is more than any network carries",
      hint: "leave it out"),
    Mistake(
      "send", "a", "--to=h", "--streams=0", message: "--streams: '0' is not a number of streams", hint: "1 to 64"),
    Mistake(
      "send", "a", "--to=h", "--streams=65", message: "--streams: '65' is not a number of streams", hint: "1 to 64"),
    Mistake(
      "send", "a", "--to=h", "--streams=two", message: "--streams: 'two' is not a number of streams", hint: "1 to 64"),
    Mistake("send", "--app=x", "--owners", "--to=h", message: "--owners is for folders only", hint: "send --help"),
    Mistake("receive", "--app=x", "--owners", message: "--owners is for folders only", hint: "receive --help"),
    Mistake(
      "receive", "--app=x", "--set-id-bits", message: "--set-id-bits is for folders only", hint: "receive --help"),
    Mistake(
      "send", "--app=x", "--idle-limit=0", "--to=h", message: "--idle-limit: no exporter is that fast", hint: "longer"),
    Mistake(
      "send", "--app=x", "--exclude", "a", "--to=h", message: "--exclude is for files and folders only",
      hint: "exporter"),
    Mistake(
      "send", "--app=x", "--exclude-from=-", "--to=h", message: "--exclude-from is for files and folders only",
      hint: "exporter"),
    Mistake(
      "send", "--app=x", "--exclude-caches", "--to=h", message: "--exclude-caches is for files and folders only",
      hint: "exporter"),
    Mistake(
      "send", "a", "--exclude-from=-", "--code-file=-", "--to=h", message: "standard input cannot be read twice",
      hint: "into a file"),
    Mistake(
      "send", "a", "--exclude-from=-", "--exclude-from", "-", "--to=h", message: "standard input cannot be read twice",
      hint: "into a file"),
    Mistake("send", "a", "--exclude", "--to=h", message: "--exclude needs a value", hint: "--exclude=VALUE"),
    Mistake("receive", "", message: "the directory to receive into is empty text", hint: "leave it out"),
    Mistake(
      "receive", "--lisen", "1", message: "'peer receive' has no option '--lisen'", hint: "did you mean --listen?"),
    Mistake(
      "discover", "here", message: "'peer discover' takes options only, and 'here' is none",
      hint: "peer discover --help"),
    Mistake("discover", "--for", "soon", message: "--for: 'soon' is not a time", hint: "90s, 10m, 2h"),
    Mistake("discover", "--for", "0", message: "--for: '0' is too short a time", hint: "90s, 10m, 2h"),
    Mistake("help", "--json", message: "'peer help' has no option '--json'", hint: "peer help --help"),
    Mistake("help", "--man", "sned", message: "peer has no command 'sned'", hint: "did you mean 'peer send'?"),
    Mistake("completion", message: "'peer completion' needs the shell", hint: "bash, zsh, fish"),
    Mistake("completion", "tcsh", message: "'peer completion' does not know 'tcsh'", hint: "bash, zsh, fish"),
    Mistake(
      "completion", "bash", "zsh", message: "'peer completion' takes one shell, and 'zsh' is a second one",
      hint: "bash, zsh, fish"),
    Mistake("resume", message: "'peer resume' needs 'list' behind it", hint: "peer resume list"),
    Mistake("resume", "lst", message: "'peer resume' does not know 'lst'", hint: "peer resume --help"),
    Mistake("resume", "list", "x", message: "'peer resume' does not know 'x'", hint: "peer resume --help"),
    Mistake("forget", message: "it is not said what to forget", hint: "peer resume list"),
    Mistake("forget", "abcd", "ef01", message: "'peer forget' takes one ID", hint: "peer resume list"),
    Mistake("forget", "abc", message: "'abc' is too short for an ID", hint: "at least 4"),
    Mistake("forget", "wxyz", message: "'wxyz' is not the ID of a transfer", hint: "peer resume list"),
    Mistake(
      "receive", "--give-up-after", "soon", message: "--give-up-after: 'soon' is not a time", hint: "90s, 10m, 2h"),
    Mistake("receive", "--give-up-after=-5", message: "--give-up-after: '-5' is not a time", hint: "90s, 10m, 2h"),
    Mistake("receive", "--give-up-after", "1d", message: "--give-up-after: '1d' is not a time", hint: "90s, 10m, 2h"),
    Mistake(
      "receive", "--give-up-after", "721h", message: "--give-up-after: '721h' is more than 30 days", hint: "shorter"),
    Mistake("receive", "--max-size", "much", message: "--max-size: 'much' is not a size", hint: "1.5G or 2T"),
    Mistake("receive", "--max-size", "0", message: "--max-size: '0' is not a size", hint: "1.5G or 2T"),
    Mistake("receive", "--lab", "x", message: "'peer receive' has no option '--lab'", hint: "did you mean --label?"),
    Mistake("receive", "--to", "h", message: "'peer receive' has no option '--to'", hint: "peer receive --help"),
    Mistake("receive", "-x", message: "'peer receive' has no option '-x'", hint: "peer receive --help"),
    Mistake("receive", "--json=1", message: "--json takes no value", hint: "peer receive --help"),
    Mistake("receive", "--listen", message: "--listen needs a value", hint: "--listen [HOST:]PORT"),
    Mistake("receive", "--listen", "--json", message: "--listen needs a value", hint: "--listen [HOST:]PORT"),
    Mistake("receive", "--listen=", message: "--listen needs a value", hint: "--listen [HOST:]PORT"),
    Mistake("receive", "--listen", "", message: "--listen needs a value", hint: "--listen [HOST:]PORT"),
    Mistake(
      "receive", "--from", "old-laptop", message: "--from: 'old-laptop' is not a numeric address", hint: "192.0.2.0/24"),
    Mistake(
      "receive", "--from=192.0.2.0/33", message: "--from: '/33' is not a number of bits from 0 to 32",
      hint: "192.0.2.0/24"),
    Mistake(
      "receive", "--from=::1/x", message: "--from: '/x' is not a number of bits from 0 to 128", hint: "2001:db8::/64"),
    Mistake("receive", "--listen=1", "--listen=2", message: "--listen is given twice", hint: "--help"),
    Mistake("receive", "--label", String(repeating: "x", count: 256), message: "the label is too long", hint: "255"),

    Mistake("app", message: "'peer app' needs a command behind it", hint: "peer app --help"),
    Mistake(
      "app", "instal", "x", message: "'peer app' has no command 'instal'", hint: "did you mean 'peer app install'?"),
    Mistake("app", "frob", message: "'peer app' has no command 'frob'", hint: "peer app --help"),
    Mistake("app", "--json", "list", message: "'peer app' has no option '--json'", hint: "peer app --help"),
    Mistake("app list", message: "peer has no command 'app list'", hint: "did you mean 'peer app list'?"),
    Mistake("help", "app", "frob", message: "'peer app' has no command 'frob'", hint: "peer app --help"),
    Mistake("help", "app", "list", "x", message: "'peer help' takes one command at most", hint: "peer help"),
    Mistake("app", "install", message: "'peer app install' needs the bundle", hint: "directory"),
    Mistake("app", "install", "", message: "'peer app install' needs the bundle", hint: "directory"),
    Mistake(
      "app", "install", "a", "b", message: "'peer app install' takes one bundle, and 'b' is a second one",
      hint: "peer app install --help"),
    Mistake("app", "install", "a", "--clear", message: "'peer app install' has no option '--clear'", hint: "--help"),
    Mistake("app", "list", "x", message: "'peer app list' takes no 'x'", hint: "peer app list --help"),
    Mistake("app", "remove", message: "'peer app remove' needs the app", hint: "peer app list"),
    Mistake(
      "app", "remove", "a", "b", message: "'peer app remove' takes one app, and 'b' is a second one", hint: "--help"),
    Mistake("app", "status", message: "'peer app status' needs the app", hint: "peer app list"),
    Mistake("app", "status", "a", "--claer", message: "'peer app status' has no option '--claer'", hint: "--clear?"),
    Mistake("app", "new", message: "'peer app new' needs the folder", hint: "an empty one"),
    Mistake(
      "app", "new", "a", "b", message: "'peer app new' takes one folder, and 'b' is a second one", hint: "--help"),
    Mistake(
      "app", "new", "a", "--id=x..y", message: "--id: 'x..y' is no identifier for an app", hint: "no two dots in a row"),
    Mistake(
      "app", "new", "a", "--id", String(repeating: "x", count: 191),
      message: "--id: '\(String(repeating: "x", count: 191))' is no identifier for an app", hint: "at most 190"),
    Mistake("app", "check", message: "'peer app check' needs the bundle", hint: "directory"),
    Mistake("app", "migrate", "a", message: "--to, the bundle of the other app, is missing", hint: "--to ./Notes.app"),
    Mistake("app", "migrate", "a", "--to=b", "--as", ",x", message: "--as: the platform is missing", hint: "android"),
    Mistake(
      "app", "migrate", "a", "--to=b", "--option", "x", message: "--option: 'x' has no value", hint: "NAME=VALUE"),
    Mistake(
      "receive", "--app", "a", "--no-confine", message: "'peer receive' has no option '--no-confine'",
      hint: "peer receive"),
    Mistake(
      "send", "--app", "a", "--no-confine", message: "'peer send' has no option '--no-confine'", hint: "peer send"),
    Mistake("app", "run", message: "'peer app run' needs the app", hint: "peer app list"),
    Mistake("app", "run", "--", message: "'peer app run' needs the app", hint: "peer app list"),
    Mistake("app", "run", "--json", "a", message: "'peer app run' has no option '--json'", hint: "peer app run --help"),

    Mistake("send", "--to", "h", message: "it is not said what to send", hint: "peer send Documents"),
    Mistake("send", "a", "--to", ":5", message: "--to: a host is missing", hint: "--to 192.0.2.7"),
    Mistake("send", "a", "--to", "h:0", message: "--to: no device can be reached at port 0", hint: "--to 192.0.2.7"),
    Mistake("send", "", "--to=h", message: "one of the paths is empty text", hint: "variable"),
    Mistake("send", "-", "--to=h", message: "standard input cannot be sent", hint: "./-"),
    Mistake("send", ".", "--to=h", message: "'.' has no name under which it could arrive", hint: "../Documents"),
    Mistake("send", "a/../", "--to=h", message: "'a/../' has no name under which it could arrive", hint: "inside"),
    Mistake("send", "a/.", "--to=h", message: "'a/.' has no name under which it could arrive", hint: "inside"),
    Mistake("send", "//", "--to=h", message: "'//' has no name under which it could arrive", hint: "inside"),
    Mistake("send", "a/x", "b/x/", "--to=h", message: "'a/x' and 'b/x/' would both arrive as 'x'", hint: "directory"),
    Mistake("send", "x", "x", "--to=h", message: "'x' and 'x' would both arrive as 'x'", hint: "one after the other"),
    Mistake(
      "send", "a", "--to=h", "--code", "4829-1367",
      message: "a code is not taken from the command line, where every user of this device could read it",
      hint: "--code-file FILE"),
    Mistake(
      "send", "a", "--code=48291367",
      message: "a code is not taken from the command line, where every user of this device could read it",
      hint: "type it when asked"),
  ]

  @Test(arguments: mistakes)
  func `a mistake is named and a way out is shown`(mistake: Mistake) {
    let failure = #expect(throws: TransferFailure.self) { try Command(mistake.words.map { Array($0.utf8) }) }
    #expect(failure?.kind == .usage)
    #expect(failure?.message == mistake.message)
    #expect(failure?.hint?.contains(mistake.hint) == true, "\(failure?.hint ?? "no hint")")
  }

  @Test(arguments: ["h:99999", "h:+1", "a b", "fe80::1:x", "[::1"])
  func `what is no address is refused before anything is asked`(text: String) {
    let failure = #expect(throws: TransferFailure.self) {
      try Command(["send", "a", "--to", text].map { Array($0.utf8) })
    }
    #expect(failure?.kind == .usage)
    #expect(failure?.message.hasPrefix("--to: ") == true)
  }

  @Test func `a value that is not text is shown escaped`() {
    let words = ["receive", "--label"].map { Array($0.utf8) } + [[0x61, 0xFF]]
    let failure = #expect(throws: TransferFailure.self) { try Command(words) }
    #expect(failure?.message == "the value of --label is not UTF-8: $'a\\xff'")
  }

  @Test(
    arguments: [
      ("--listne", "--listen"), ("--jsn", "--json"), ("--too", "--to"), ("--t", "--to"), ("--code-fil", "--code-file"),
      ("--codefile", "--code-file"), ("--frobnicate", nil), ("-", nil),
    ] as [(String, String?)])
  func `the nearest option is suggested, if one is near`(typed: String, expected: String?) {
    let names = Set(Verb.allCases.flatMap(\.options).map(\.name)).sorted()
    #expect(Suggestion.closest(to: typed, among: names) == expected)
  }
}
