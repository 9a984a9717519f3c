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
    #expect(words("") == all)
    #expect(words() == all)
    #expect(words("-") == ["--version", "--help"])
    #expect(words("--version", "") == ["--verbose"])
    #expect(words("--version", "--verbose", "") == [])
    #expect(words("app", "") == ["install", "list", "run", "status", "remove", "new", "check", "migrate"])
    #expect(words("app", "-") == ["--help"])
    #expect(words("credentials", "") == ["list", "remove"])
    #expect(words("account", "") == ["authorize", "revoke", "list"])
    #expect(offer("credentials", "remove", "") == .owners)
    #expect(offer("credentials", "list", "o") == .owners)
    #expect(offer("account", "revoke", "u", "--app", "") == .apps)
    #expect(words("code", "") == ["new"])
    #expect(words("resume", "") == ["list"])
    #expect(words("completion", "") == Shell.allCases.map(\.rawValue))
    #expect(words("help", "") == all)
    #expect(words("--help", "app", "") == words("app", ""))
    #expect(words("help", "send", "") == [])
    #expect(words("help", "--man", "se") == all)
  }

  @Test func `an unknown command has no completions`() {
    #expect(words("frob", "") == [])
    #expect(words("app", "frob", "") == [])
    #expect(words("app frob", "") == [])
  }

  @Test(arguments: Verb.allCases)
  func `every option is offered with its description`(verb: Verb) {
    let typed = verb.rawValue.split(separator: " ").map { Array($0.utf8) } + [Array("--".utf8)]
    let expected = verb.options.map { Completion.Candidate(word: $0.name, meaning: $0.brief) }
    #expect(Completion(typed).offer == .words(expected))
  }

  @Test func `options are offered by their long names, and recognized by their short names`() throws {
    #expect(words("discover", "-") == ["--for", "--json", "--help"])
    #expect(words("forget", "-") == ["--older-than", "--json", "--help"])
    #expect(words("discover", "-h", "-") == ["--for", "--json"])
    let send = try #require(words("send", "--"))
    for name in ["--to", "--exclude", "--limit", "--code-file", "--json"] { #expect(send.contains(name), "\(name)") }
    let receive = try #require(words("receive", "--"))
    for name in ["--existing", "--keep", "--from", "--listen", "--app"] { #expect(receive.contains(name), "\(name)") }
  }

  @Test func `devices are searched for only if the word may be an address`() {
    for typed in ["", "1", "10.99.0.2:", "fe80", "[fe80::1%eth0]:5", "fe80::1%wlan", "::1"] {
      #expect(offer("send", "--to", typed) == .devices, "\(typed)")
      #expect(offer("send", "--to=\(typed)") == .devices, "\(typed)")
    }
    for typed in ["new-laptop", "h:1", "deadline", "~/x"] {
      #expect(words("send", "--to", typed) == [], "\(typed)")
      #expect(words("send", "--to=\(typed)") == [], "\(typed)")
    }
  }

  @Test func `an option is not offered again, unless it may be repeated`() throws {
    let left = try #require(words("send", "--exclude", "*.o", "--json", "--limit=5M", "a", "-"))
    #expect(!left.contains("--json") && !left.contains("--limit") && left.contains("--exclude"))
    #expect(left.count == Verb.send.options.count - 2)
  }

  @Test func `the completions of a value depend on its option`() {
    #expect(words("receive", "--existing", "") == ["refuse", "skip", "keep-both", "replace", "merge"])
    #expect(words("send", "--compress", "al") == ["auto", "always", "never"])
    #expect(words("send", "--app", "x", "--as", "") == ["android", "linux"])
    #expect(offer("receive", "--app", "") == .apps)
    #expect(offer("send", "--to", "") == .devices)
    #expect(offer("send", "--exclude-from", "") == .files)
    #expect(words("send", "--limit", "") == [])
    // As for the parser, a word that begins with a dash is not a value, except a single dash.
    #expect(words("send", "--code-file", "--lim")?.contains("--limit") == true)
    #expect(offer("send", "--code-file", "-") == .files)
    #expect(offer("send", "--code-file", "-", "") == .files)
  }

  @Test func `a value may follow an equals sign`() {
    let completion = Completion(["receive", "a", "--existing=re"].map { Array($0.utf8) })
    #expect(completion.prefix == "--existing=")
    #expect(words("receive", "--existing=re") == ["refuse", "skip", "keep-both", "replace", "merge"])
    #expect(offer("send", "--code-file=x=y") == .files)
    #expect(words("send", "--json=") == [])
    #expect(words("send", "--frob=") == [])
  }

  @Test func `the completions of operands depend on the command`() {
    #expect(offer("send", "") == .files)
    #expect(offer("send", "a", "b") == .files)
    #expect(offer("receive", "") == .directories)
    #expect(offer("forget", "") == .transfers)
    #expect(offer("app", "install", "") == .directories)
    #expect(offer("app", "status", "") == .apps)
    // Where no operand can follow, options can.
    #expect(words("receive", "a", "")?.contains("--ask") == true)
    #expect(words("discover", "") == ["--for", "--json", "--help"])
    #expect(words("receive", "--app", "x", "")?.contains("--replace") == true)
  }

  @Test func `two dashes end the options`() {
    #expect(offer("send", "--", "-") == .files)
    #expect(offer("send", "--", "--to", "") == .files)
    #expect(words("discover", "--", "") == [])
  }

  @Test func `all words after the identifier are the app's`() {
    #expect(offer("app", "run", "") == .apps)
    #expect(words("app", "run", "-") == ["--help"])
    #expect(offer("app", "run", "--", "") == .apps)
    for typed in ["", "--help", "--json="] { #expect(offer("app", "run", "x", typed) == .files) }
  }

  @Test func `an answer has a line for the kind and a line for each word`() {
    let completion = Completion(prefix: "--a=", offer: .words([.init(word: "b", meaning: "what b is")]))
    #expect(completion.firstLine + completion.candidateLines == "words\t--a=\nb\twhat b is\n")
    #expect(Completion(offer: .files).firstLine == "files\t\n")
    #expect(Completion(offer: .files).candidateLines.isEmpty)
  }

  @Test func `a request is not a command line, and may ask only for the kind`() throws {
    let words = ["send", "--frob", ""].map { Array($0.utf8) }
    let whole = try #require(Completion.Request([Array("--words".utf8)] + words))
    #expect(whole.words == words && whole.isWhole)
    #expect(try Command(["completion", "--words"].map { Array($0.utf8) } + words) == .complete(whole))
    let kind = try #require(Completion.Request(["--offer", "resume", ""].map { Array($0.utf8) }))
    #expect(kind.answer == "words\t\n")
    #expect(Completion.Request([Array("bash".utf8)]) == nil)
  }
}
