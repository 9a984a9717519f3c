import Expectations
import MigrationWire
import Testing

@testable import peer

@Suite struct HelpTests {
  private static let topics: [Verb?] = [nil] + Verb.allCases

  @Test(arguments: topics)
  func `every text fits a terminal of eighty columns`(topic: Verb?) {
    for line in HelpText.of(topic).split(separator: "\n") {
      expect(line.count <= 80, "\(line)")
      expect(line.utf8.count, is: line.count, "\(line)")
      expect(line.last != " ", "\(line)")
    }
  }

  @Test(arguments: Verb.allCases)
  func `the options in a text are those of the parser`(verb: Verb) {
    let words = HelpText.of(verb).split { !$0.isLetter && $0 != "-" }.map(String.init)
    let mentioned = words.filter { $0.hasPrefix("--") && $0 != "--" }
    expect(Set(mentioned), is: Set(verb.options.map(\.name)))
  }

  @Test(arguments: Verb.allCases)
  func `every option is described with the name of its value`(verb: Verb) {
    let text = HelpText.of(verb)
    for option in verb.options {
      let spelled = option.value.map { "\(option.name) \($0)" } ?? option.name
      expect(text.contains("\n  \(spelled) ") || text.contains("\n  -h, \(spelled) "), "\(spelled)")
    }
  }

  @Test(arguments: [Verb.receive, .send])
  func `the text has examples and exit codes`(verb: Verb) {
    let text = HelpText.of(verb)
    expect(text.contains("\nExamples:\n  $ peer \(verb.rawValue)"))
    for code in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 130, 143] {
      expect(text.contains("\n" + Figures.padded(String(code), to: 5) + "  "), "\(code)")
    }
  }

  @Test func `the overview names every command`() {
    for verb in Verb.allCases { expect(HelpText.of(nil).contains("peer \(verb.rawValue) ")) }
  }
}
