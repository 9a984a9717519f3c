import Expectations
import Testing

@testable import peer

/// The completions of an unfinished command line.
@Suite struct CompletionTests {
  private func offer(_ words: String...) -> Completion.Offer { Completion(words.map { Array($0.utf8) }).offer }

  /// The offered words; nil if the offer is of another kind.
  private func words(_ words: String...) -> [String]? {
    guard case .words(let found) = Completion(words.map { Array($0.utf8) }).offer else { return nil }
    return found.map(\.word)
  }

  @Test func `commands come first`() {
    let all = [
      "receive", "send", "assistant", "discover", "relay", "resume", "forget", "device", "app", "credentials",
      "account",
      "code",
      "completion", "help",
    ]
    expect(words(""), is: all)
    expect(words(), is: all)
    expect(words("-"), is: ["--version", "--help"])
    expect(words("--version", ""), is: ["--verbose"])
    expect(words("--version", "--verbose", ""), is: [])
    expect(words("app", ""), is: ["install", "list", "run", "status", "remove", "new", "check", "migrate"])
    expect(words("app", "-"), is: ["--help"])
    expect(words("credentials", ""), is: ["list", "remove"])
    expect(words("account", ""), is: ["authorize", "revoke", "list"])
    expect(offer("credentials", "remove", ""), is: .values(.owner))
    expect(offer("credentials", "list", "o"), is: .values(.owner))
    expect(offer("account", "revoke", "u", "--app", ""), is: .values(.app))
    expect(words("code", ""), is: ["new"])
    expect(words("device", ""), is: ["list", "name", "forget"])
    expect(offer("device", "name", ""), is: .values(.knownDevice))
    expect(offer("device", "forget", ""), is: .values(.knownDevice))
    expect(offer("send", "--everything", "--skip", ""), is: .values(.entry))
    expect(words("resume", ""), is: ["list"])
    expect(words("completion", ""), is: Shell.allCases.map(\.rawValue))
    expect(words("help", ""), is: all)
    expect(words("--help", "app", ""), is: words("app", ""))
    expect(words("help", "send", ""), is: [])
    expect(words("help", "--man", "se"), is: all)
  }

  @Test func `an unknown command has no completions`() {
    expect(words("frob", ""), is: [])
    expect(words("app", "frob", ""), is: [])
    expect(words("app frob", ""), is: [])
  }

  @Test(arguments: Verb.allCases)
  func `every option is offered with its description`(verb: Verb) {
    let typed = verb.rawValue.split(separator: " ").map { Array($0.utf8) } + [Array("--".utf8)]
    let expected = verb.options.map { Completion.Candidate(word: $0.name, meaning: $0.brief) }
    expect(Completion(typed).offer, is: .words(expected))
  }

  @Test func `options are offered by their long names, and recognized by their short names`() throws {
    expect(words("discover", "-"), is: ["--for", "--json", "--help"])
    expect(words("forget", "-"), is: ["--older-than", "--json", "--help"])
    expect(words("discover", "-h", "-"), is: ["--for", "--json"])
    let send = try #require(words("send", "--"))
    for name in ["--to", "--exclude", "--limit", "--code-file", "--json"] { expect(send.contains(name), "\(name)") }
    let receive = try #require(words("receive", "--"))
    for name in ["--existing", "--keep", "--from", "--listen", "--app"] { expect(receive.contains(name), "\(name)") }
  }

  @Test func `devices are searched for only if the word may be an address`() {
    for typed in ["", "1", "10.99.0.2:", "fe80", "[fe80::1%eth0]:5", "fe80::1%wlan", "::1"] {
      expect(offer("send", "--to", typed), is: .values(.device), "\(typed)")
      expect(offer("send", "--to=\(typed)"), is: .values(.device), "\(typed)")
    }
    for typed in ["new-laptop", "h:1", "deadline", "~/x"] {
      expect(words("send", "--to", typed), is: [], "\(typed)")
      expect(words("send", "--to=\(typed)"), is: [], "\(typed)")
    }
  }

  @Test func `an option is not offered again, unless it may be repeated`() throws {
    let left = try #require(words("send", "--exclude", "*.o", "--json", "--limit=5M", "a", "-"))
    expect(!left.contains("--json") && !left.contains("--limit") && left.contains("--exclude"))
    expect(left.count, is: Verb.send.options.count - 2)
  }

  @Test func `the completions of a value depend on its option`() {
    expect(words("receive", "--existing", ""), is: ["refuse", "skip", "keep-both", "replace", "update", "merge"])
    expect(words("send", "--compress", "al"), is: ["auto", "always", "never"])
    expect(words("send", "--app", "x", "--as", ""), is: ["android", "linux"])
    expect(offer("receive", "--app", ""), is: .values(.app))
    expect(offer("send", "--to", ""), is: .values(.device))
    expect(offer("send", "--exclude-from", ""), is: .values(.file))
    expect(words("send", "--limit", ""), is: [])
    // As for the parser, a word that begins with a dash is not a value, except a single dash.
    expect(words("send", "--code-file", "--lim")?.contains("--limit"), is: true)
    expect(offer("send", "--code-file", "-"), is: .values(.file))
    expect(offer("send", "--code-file", "-", ""), is: .values(.path))
  }

  @Test func `a value may follow an equals sign`() {
    let completion = Completion(["receive", "a", "--existing=re"].map { Array($0.utf8) })
    expect(completion.prefix, is: "--existing=")
    expect(words("receive", "--existing=re"), is: ["refuse", "skip", "keep-both", "replace", "update", "merge"])
    expect(offer("send", "--code-file=x=y"), is: .values(.file))
    expect(words("send", "--json="), is: [])
    expect(words("send", "--frob="), is: [])
  }

  @Test func `the completions of operands depend on the command`() {
    expect(offer("send", ""), is: .values(.path))
    expect(offer("send", "a", "b"), is: .values(.path))
    expect(offer("receive", ""), is: .values(.directory))
    expect(offer("forget", ""), is: .values(.transfer))
    expect(offer("app", "install", ""), is: .values(.directory))
    expect(offer("app", "status", ""), is: .values(.app))
    // Where no operand can follow, options can.
    expect(words("receive", "a", "")?.contains("--ask"), is: true)
    expect(words("discover", ""), is: ["--for", "--json", "--help"])
    expect(words("receive", "--app", "x", "")?.contains("--replace"), is: true)
  }

  @Test func `two dashes end the options`() {
    expect(offer("send", "--", "-"), is: .values(.path))
    expect(offer("send", "--", "--to", ""), is: .values(.path))
    expect(words("discover", "--", ""), is: [])
  }

  @Test func `all words after the identifier are the app's`() {
    expect(offer("app", "run", ""), is: .values(.app))
    expect(words("app", "run", "-"), is: ["--help"])
    expect(offer("app", "run", "--", ""), is: .values(.app))
    for typed in ["", "--help", "--json="] { expect(offer("app", "run", "x", typed), is: .values(.file)) }
  }

  @Test func `an answer has a line for the kind and a line for each word`() {
    let completion = Completion(prefix: "--a=", offer: .words([.init(word: "b", meaning: "what b is")]))
    expect(completion.firstLine + completion.candidateLines, is: "words\t--a=\nb\twhat b is\n")
    expect(Completion(offer: .values(.file)).firstLine, is: "files\t\n")
    expect(Completion(offer: .values(.file)).candidateLines.isEmpty)
  }

  @Test func `a request is not a command line, and may ask only for the kind`() throws {
    let words = ["send", "--frob", ""].map { Array($0.utf8) }
    let whole = try #require(Completion.Request([Array("--words".utf8)] + words))
    expect(whole.words == words && whole.isWhole)
    expect(try Command(["completion", "--words"].map { Array($0.utf8) } + words), is: .complete(whole))
    let kind = try #require(Completion.Request(["--offer", "resume", ""].map { Array($0.utf8) }))
    expect(kind.answer, is: "words\t\n")
    expect(Completion.Request([Array("bash".utf8)]) == nil)
  }
}
