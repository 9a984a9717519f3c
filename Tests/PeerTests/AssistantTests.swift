import MigrationPage
import MigrationSystem
import MigrationTransfer
import Testing

@testable import peer

/// What the page may start, and what its answers mean.
@Suite struct AssistantTests {
  @Test func `a form chooses among the options that the page has`() {
    #expect(
      AssistantProgram.arguments(.send, ["to": "192.0.2.7"])
        == ["send", "--everything", "--json", "--ask", "--wait", "--to=192.0.2.7"])
    #expect(
      AssistantProgram.arguments(.receive, ["existing": "skip", "replace": "yes", "via": "relay.example.org"])
        == ["receive", "--everything", "--json", "--ask", "--existing=skip", "--replace", "--via=relay.example.org"])
  }

  @Test(arguments: [
    (Call.send, ["home": "/"]), (.send, ["to": ""]), (.send, ["via": ""]), (.send, ["existing": "skip"]),
    (.send, ["to": String(repeating: "a", count: 301)]), (.receive, ["existing": "a"]), (.receive, ["to": "a"]),
    (.receive, ["replace": "no"]),
  ])
  func `a form with anything else starts nothing`(call: Call, form: [String: String]) {
    #expect(AssistantProgram.arguments(call, form) == nil)
  }

  @Test func `a command line from the page is valid`() throws {
    for existing in ["merge", "skip", "keep-both", "replace", "refuse"] {
      let words = try #require(AssistantProgram.arguments(.receive, ["existing": existing]))
      guard case .receive(let options) = try Command(words.map { Array($0.utf8) }) else {
        Issue.record("it is another command")
        return
      }
      #expect(options.takesEverything && options.asks && options.json)
    }
  }

  @Test(arguments: [
    ("y", ConsentAnswer.yes(without: [1])), ("a", .yes()), ("n", .no), ("", .no),
    ("all without 2,5", .yes(without: [1, 4])), ("all without 0", .no), ("all without x", .no),
  ])
  func `a program leaves out parts by their numbers`(line: String, answer: ConsentAnswer) {
    #expect(EverythingConsent.answer(besides: [1], isOfProgram: true) { .line(Array(line.utf8)) } == answer)
  }
}
