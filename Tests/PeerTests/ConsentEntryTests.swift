import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import Testing

@testable import peer

@Suite struct ConsentEntryTests {
  private func answer(_ lines: Terminal.Line...) -> Bool? {
    var lines = lines[...]
    return ConsentEntry.answer { lines.popFirst() ?? .endOfInput }
  }

  private func line(_ text: String) -> Terminal.Line { .line(Array(text.utf8)) }

  @Test func `only yes accepts an offer`() {
    for text in ["y", "Y", "yes", " YES\r"] { #expect(answer(line(text)) == true) }
    for text in ["n", "No", "", "  "] { #expect(answer(line(text)) == false) }
    #expect(answer(.endOfInput) == false)
    #expect(answer(line("what?"), line("y")) == true)
    #expect(answer(line("a"), line("b"), line("c"), line("y")) == false)
  }

  @Test func `an interruption does not answer the question`() {
    #expect(answer(.interrupted) == nil)
  }

  @Test func `the whole offer is shown, and cannot control the terminal`() {
    let roots = [
      Root(kind: .directory, name: Array("a\u{1B}[2J".utf8)), Root(kind: .file, name: [0xFF]),
      Root(kind: .symbolicLink, name: Array("l".utf8)),
    ]
    let offer = Offer(contents: .folders(roots), items: 1234, bytes: 5_000_000, allocated: 0, flags: [])
    let room = ReceiverEngine.Examination(availableBytes: 7_000_000_000)
    let question = ConsentQuestion(
      parts: [ReceiverEngine.WantedPart(0, Samples.parts[0], offer: offer, room: room)], label: "evil\u{202E}\n",
      address: "192.0.2.7")
    let text = ConsentEntry.text(question)
    #expect(!text.contains("\u{1B}") && !text.contains("\u{202E}"))
    #expect(text.contains("$'evil\\u202e\\n' (192.0.2.7) wants to send:"))
    #expect(text.contains("  $'a\\x1b[2J'/\n") && text.contains("  $'\\xff'\n") && text.contains("l (a link)"))
    #expect(text.hasSuffix("1,234 items, 5.0 MB; 7.0 GB free here\n"))
    #expect(
      ConsentEntry.text(question, running: [Array(".a\u{1B}".utf8)]).hasSuffix(
        "In your home directory, these can run commands, for instance at your next login:\n  $'.a\\x1b'\n"))
  }

  @Test func `the question shows that an app's data may grow, and its maximum`() {
    let app = AppIdentity(bundleIdentifier: "org.example", store: "", platform: "", version: "")
    let offer = Offer(contents: .app(app), items: 2, bytes: 1, allocated: 1, flags: .estimated)
    let room = ReceiverEngine.Examination(availableBytes: 7_000_000_000, mostBytes: 5_000_000_000)
    let question = ConsentQuestion(
      parts: [ReceiverEngine.WantedPart(0, Samples.parts[0], offer: offer, room: room)], label: "a",
      address: "192.0.2.7")
    #expect(
      ConsentEntry.text(question).hasSuffix(
        "\nabout 2 items, about 1 B, may grow; at most 5.0 GB; 7.0 GB free here\n"))
  }

  @Test func `yes takes a whole plan without what runs by itself and secrets, unless all of it is wanted`() {
    func answer(_ text: String) -> ConsentAnswer? {
      EverythingConsent.answer(besides: [0, 3]) { .line(Array(text.utf8)) }
    }
    #expect(answer("y") == .yes(without: [0, 3]) && answer(" All\r") == .yes() && answer("") == .no)
    #expect(EverythingConsent.answer(besides: []) { .interrupted } == nil)
    #expect(EverythingConsent.answer(besides: []) { .endOfInput } == .no)
    let room = ReceiverEngine.Examination(availableBytes: 7_000_000_000)
    let parts = Samples.parts.enumerated().compactMap { number, part in
      Offer(estimated: part).map { ReceiverEngine.WantedPart(UInt16(number), part, offer: $0, room: room) }
    }
    let allowed = EverythingImporters.Permissions(secrets: true)
    #expect(parts.filter { !allowed.allow($0.part.flags) }.map(\.number) == [0])
    let text = EverythingConsent.text(
      ConsentQuestion(parts: parts, label: "old\u{1B}", address: "192.0.2.7"),
      parts.map(\.part.flags), columns: 80)
    #expect(!text.contains("\u{1B}") && text.contains("7.0 GB free here"))
  }
}
