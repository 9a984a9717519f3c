import Expectations
import MigrationWire
import Testing

@testable import peer

/// The descriptions of the commands are complete, and match the parser.
@Suite struct DescriptionTests {
  @Test(arguments: Verb.allCases)
  func `a form has no other option than those of its command`(verb: Verb) {
    let words = verb.description.forms.joined().flatMap { $0.split { " []|".contains($0) } }
    let named = Set(words.filter { $0.hasPrefix("--") }.map(String.init))
    expect(named.isSubset(of: verb.options.map(\.name)))
  }

  @Test(arguments: Verb.allCases)
  func `a command and its options have a short description`(verb: Verb) {
    let description = verb.description
    let texts = [description.summary] + description.options.map(\.brief)
    for text in texts + description.options.flatMap(\.choices).map({ Option.brief($0.text) }) {
      expect((4...110).contains(text.count), "\(text)")
      expect(text.last != "." && !text.contains("\n"), "\(text)")
    }
    expect(Set(description.options.map(\.name)).count, is: description.options.count)
  }

  @Test(
    arguments: [
      ("Do it. Then rest.", "Do it"), ("Look: seconds, or 1h.", "Look"),
      ("At most 1.5G (G is a billion).", "At most 1.5G"),
      ("Such as 'photos (2)'.", "Such as 'photos (2)'"), ("One; once for\neach.", "One"),
      ("A tree\n  of files.", "A tree of files"),
    ])
  func `the first clause of a text is its brief form`(text: String, brief: String) {
    expect(Option.brief(text), is: brief)
  }

  @Test func `the parser accepts each word that is offered for a value`() throws {
    for choice in try choices("--existing", of: .receive) {
      _ = try Command(["receive", "--existing", choice].map { Array($0.utf8) })
    }
    for choice in try choices("--compress", of: .send) {
      _ = try Command(["send", "a", "--compress", choice].map { Array($0.utf8) })
    }
    expect(try choices("--existing", of: .receive), is: Existing.allCases.map(\.name))
  }

  private func choices(_ name: String, of verb: Verb) throws -> [String] {
    let option = try #require(verb.options.first { $0.name == name })
    expect(!option.choices.isEmpty)
    return option.choices.map(\.word)
  }

  @Test func `lines are as full as they can be, and commands in quotes are not broken`() {
    let text = "one 'peer two three' ('peer four') four's\n  five"
    expect(TextWrapping.words(text), is: ["one", "'peer two three'", "('peer four')", "four's", "five"])
    expect(TextWrapping.lines(["aa", "bb", "ccccc", "d"], columns: 5), is: ["aa bb", "ccccc", "d"])
    expect(TextWrapping.hanging("  label  ", ["a", "b"]), is: "  label  a b\n")
  }
}
