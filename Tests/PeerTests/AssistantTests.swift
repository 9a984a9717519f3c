import Expectations
import Glibc
import MigrationHost
import MigrationPage
import MigrationSystem
import MigrationTransfer
import TestSupport
import Testing

@testable import peer

/// What the page may start, and what its answers mean.
@Suite struct AssistantTests {
  @Test func `a form chooses among the options that the page has`() {
    expect(
      AssistantProgram.arguments(.send, ["to": "192.0.2.7"]),
      is: ["send", "--everything", "--json", "--ask", "--wait", "--to=192.0.2.7"])
    expect(
      AssistantProgram.arguments(.receive, ["replace": "yes", "via": "relay.example.org"]),
      is: ["receive", "--everything", "--json", "--ask", "--replace", "--via=relay.example.org"])
  }

  @Test(arguments: [
    (Call.send, ["home": "/"]), (.send, ["to": ""]), (.send, ["via": ""]), (.send, ["existing": "skip"]),
    (.send, ["to": String(repeating: "a", count: 301)]), (.receive, ["existing": "skip"]), (.receive, ["to": "a"]),
    (.receive, ["replace": "no"]),
  ])
  func `a form with anything else starts nothing`(call: Call, form: [String: String]) {
    expect(AssistantProgram.arguments(call, form) == nil)
  }

  @Test func `a command line from the page is valid`() throws {
    let words = try #require(AssistantProgram.arguments(.receive, ["replace": "yes"]))
    guard case .receive(let options) = try Command(words.map { Array($0.utf8) }) else {
      Issue.record("it is another command")
      return
    }
    expect(options.takesEverything && options.asks && options.json && options.importing.replaces)
  }

  @Test func `over SSH there is no browser, unless a screen leads back`() {
    func isFarAway(_ names: String...) -> Bool {
      Assistant.isFarAway { name in names.contains(name) ? [0x61] : nil }
    }
    expect(isFarAway("SSH_CONNECTION") && !isFarAway() && !isFarAway("SSH_CONNECTION", "DISPLAY"))
    expect(!isFarAway("SSH_CONNECTION", "WAYLAND_DISPLAY"))
  }

  @Test func `what prevents the page is shown as text`() {
    let page = LeadingFile.content(saying: ["<a> & 'b'", "c"])
    expect(page.contains("<p>&lt;a&gt; &amp; 'b'</p>\n<p>c</p>"))
  }

  @Test func `a click answers the question that it was made for, once, and no later one`() {
    func line(_ event: String, _ rest: String) -> String { "{\"event\":\"\(event)\",\(rest)}" }
    var question = AssistantProgram.OpenQuestion()
    expect(question.answer("y", to: "1") == nil)
    question.note(line("question", "\"number\":1,\"label\":\"{\\\"event\\\":\\\"question\\\",\\\"number\\\":7\""))
    expect(question.answer("y", to: "7") == nil && question.answer("y", to: nil) == nil)
    question.note(line("withdrawn", "\"number\":1"))
    expect(question.answer("y", to: "1") == nil)
    question.note(line("question", "\"number\":12,\"about\":\"consent\""))
    question.note(line("notice", "\"text\":\"withdrawn\""))
    expect(question.answer("y", to: "1") == nil)
    expect(question.answer("files", to: "12") == "#12 files\n" && question.answer("all", to: "12") == nil)
  }

  @Test func `the file with the ticket lies where only its user looks, and browsers do`() throws {
    let scratch = try Scratch()
    for (name, mode) in [("open", 0o777), ("own", 0o700), ("taken", 0o700)] as [(String, mode_t)] {
      try #require(mkdir(scratch.path(name), 0o700) == 0 && chmod(scratch.path(name), mode) == 0)
    }
    try #require(mkdir(scratch.path("taken/peer-assistant"), 0o755) == 0)
    let places = ["open", "missing", "taken", "own"].map { scratch.at($0) }
    let path = try #require(LeadingFile.write("http://127.0.0.1:9/#0a", in: places))
    expect(path, is: scratch.at("own/peer-assistant/\(CurrentProcess.id).html"))
    let folder = try Directory.open(scratch.at("own/peer-assistant"))
    expect(try folder.status().mode, is: 0o700)
    expect(try folder.status("\(CurrentProcess.id).html").mode, is: 0o600)
    expect(
      String(decoding: try FileContent.read(path, limit: 1000), as: UTF8.self).contains("url=http://127.0.0.1:9/#0a"))
    LeadingFile.removeAll(in: places)
    expect(scratch.names("own").isEmpty && scratch.names("open").isEmpty)
    // A folder of that name that is the user's own stays as it is.
    try #require(mkdir(scratch.path("own/peer-assistant"), 0o700) == 0)
    scratch.write("own/peer-assistant/7.html", "")
    scratch.write("own/peer-assistant/letter.html", "")
    expect(LeadingFile.write("http://127.0.0.1:9/", in: [scratch.at("own")]) == nil)
    LeadingFile.removeAll(in: places)
    expect(scratch.names("own/peer-assistant"), is: ["letter.html"])
    let variables = ["HOME": "/home/a", "XDG_RUNTIME_DIR": "run"].mapValues { Array($0.utf8) }
    let record = Array("/p".utf8)
    expect(LeadingFile.places(record, hasSnaps: true) { variables[$0] }, is: [Array("/home/a".utf8), record])
    expect(LeadingFile.places(record, hasSnaps: false) { variables[$0] }, is: [record])
  }
}
