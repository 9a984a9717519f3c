import Expectations
import MigrationHost
import MigrationTransfer
import Testing

@testable import peer

@Suite struct ManualPageTests {
  @Test(
    arguments: [
      ("a-b \\ 'c' `d` \"e\" ^ ~", "a\\-b \\e \\(aqc\\(aq \\(gad\\(ga \\(dqe\\(dq \\(ha \\(ti"), ("äöü", "äöü"),
    ])
  func `characters of the language are escaped`(text: String, escaped: String) {
    expect(Roff.escaped(text), is: escaped)
  }

  @Test(
    arguments: [
      (".gitignore files", "\\&.gitignore files\n"),
      ("One. Two.", "One.\nTwo.\n"),
      ("(--to HOST)", "(\\-\\-to HOST)\n"),
      ("'-' is no option", "\\(aq\\-\\(aq is no option\n"),
    ])
  func `each sentence has its line`(text: String, roff: String) {
    expect(Roff.prose(text), is: roff)
  }

  @Test func `dots around a command line neither end a sentence nor begin a request`() {
    expect(Roff.commandLine(["[--from", "RANGE]..."]), is: "[\\fB\\-\\-from\\fR\\ \\fIRANGE\\fR]...\\&")
    expect(Roff.commandLine(["..."]), is: "\\&...\\&")
  }

  @Test(arguments: ManualPage.allCases)
  func `a page has the usual sections in their order`(page: ManualPage) {
    let parts = page.text.split(separator: "\n").filter { $0.hasPrefix(".SH ") }.map { String($0.dropFirst(4)) }
    let all = [
      "NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES",
      "SEE ALSO",
    ]
    let missing: Set<String> =
      switch page {
      case .peer: []
      case .receive, .send: ["COMMANDS"]
      case .relay: ["COMMANDS", "FILES"]
      case .app: ["OPTIONS"]
      }
    expect(parts, is: all.filter { !missing.contains($0) })
    expect(page.text.hasPrefix(".TH \(page.name.uppercased()) 1 \(Version.date) \"peer \(Version.current)\" "))
  }

  @Test(arguments: Verb.allCases)
  func `a command's page describes each option and each exit code`(verb: Verb) throws {
    let page = ManualPage(of: verb)
    // A group only lists its commands.
    guard verb.members.isEmpty else { return }
    let isAlone = page.name == "peer-\(verb.rawValue)"
    let name = "peer \(Roff.escaped(verb.rawValue))"
    let options = part(of: page, isAlone ? ".SH OPTIONS" : ".SS \(name)")
    for option in verb.options {
      let short = option.name == "--help" ? "\\fB\\-h\\fR, " : ""
      let label = ".TP\n" + short + Roff.bold(option.name) + (option.value == nil ? "\n" : " ")
      expect(options.contains(label), "\(option.name)")
    }
    let status = part(of: page, ".SH EXIT STATUS")
    let title = Roff.bold("peer \(verb.rawValue)") + "\n"
    let hasOwn = verb.description.exitCodes != nil
    let own =
      isAlone ? status : status.split(separator: ".TP\n").first { $0.hasPrefix(hasOwn ? title : "Other commands\n") }
    let codes = (verb.description.exitCodes ?? .usual).codes
    expect(codes.count > 1)
    for code in codes {
      let number = isAlone ? ".TP\n\(Roff.bold(String(code.number)))\n" : "\(code.number) "
      expect(try #require(own).replacing("\n", with: " \n").contains(number.replacing("\n", with: " \n")), "\(code)")
    }
  }

  /// The text between a heading and the next one.
  private func part(of page: ManualPage, _ heading: String) -> Substring {
    let lines = page.text.split(separator: "\n", omittingEmptySubsequences: false)
    let rest = lines.drop { $0 != heading }.dropFirst()
    return Substring(rest.prefix { !$0.hasPrefix(".S") || $0.hasPrefix(".SY") }.map { $0 + "\n" }.joined())
  }

  @Test(arguments: Verb.allCases)
  func `unchanged lines fit a page of eighty columns`(verb: Verb) {
    for case .lines(let lines) in verb.description.blocks {
      for line in lines.split(separator: "\n") { expect(line.count <= 73, "\(line)") }
    }
  }

  @Test func `the pages name every directory in PEER_HOME`() {
    let names = Surroundings.files(for: .peer).map(\.name)
    for folder in AppHome.Folder.allCases { expect(names.contains("PEER_HOME/\(folder.rawValue)")) }
    expect(names.contains("PEER_HOME/transfers"))
    expect(Surroundings.files(for: .app).map(\.name).contains("PEER_HOME/replaced"))
  }

  @Test(arguments: ManualPage.allCases)
  func `the source of a page has short lines, known requests and no bare dash`(page: ManualPage) {
    let requests: Set<String> = [
      ".TH", ".SH", ".SS", ".TP", ".PP", ".RS", ".RE", ".EX", ".EE", ".SY", ".YS", ".BR", ".nf", ".fi", ".nh", ".ad",
    ]
    for line in page.text.split(separator: "\n").dropFirst() {
      // Lines of examples may have any length.
      expect((line.utf8.count <= 80 || line.first == " ") && line.last != " ", "\(line)")
      if line.first == "." { expect(requests.contains(String(line.prefix { $0 != " " })), "\(line)") }
      expect(!line.replacing("\\-", with: "").contains("-"), "\(line)")
      expect(line.first != "'", "\(line)")
    }
  }

  @Test(
    arguments: [(nil, .peer), (.discover, .peer), (.send, .send), (.relay, .relay), (.app, .app), (.appRun, .app)]
      as [(Verb?, ManualPage)])
  func `each command has its page`(verb: Verb?, page: ManualPage) throws {
    let words = ["help", "--man"] + (verb.map { $0.rawValue.split(separator: " ").map(String.init) } ?? [])
    expect(try Command(words.map { Array($0.utf8) }), is: .manual(page))
  }
}
