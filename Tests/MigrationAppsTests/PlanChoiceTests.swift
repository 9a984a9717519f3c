import Expectations
import MigrationArchive
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationApps

@Suite struct PlanChoiceTests {
  private let apps = [
    MovableApp(.withExtension, identifier: "org.example.notes", name: "Notes"),
    MovableApp(.described, identifier: "vim", name: "Vim", places: [place("home", "Projekte/a.c", .file)]),
    MovableApp(.described, identifier: "signal", name: "Signal", isIdentity: true),
  ]

  private func chosen(_ choice: PlanChoice, _ inventory: Inventory) -> [String] {
    zip(names(inventory), inventory.entries.indices).filter { choice.contains($1) }.map(\.0)
  }

  @Test func `an answer leaves numbers out, and takes those with a plus sign`() throws {
    let inventory = try inventory(try germanHome(), apps)
    var choice = PlanChoice(inventory)
    expect(
      chosen(choice, inventory), is: ["Notes", "Vim", "Dokumente", "Dokumente/Musik", "Projekte", "notes.txt"])
    try choice.apply("")
    try choice.apply(" 1, 5-7 +8,+10")
    expect(chosen(choice, inventory), is: ["Vim", "Dokumente", ".bashrc", "bin"])
  }

  @Test func `an answer may have names, in letters of any size`() throws {
    let inventory = try inventory(try germanHome(), apps)
    var choice = PlanChoice(inventory)
    try choice.apply("notes, music,projekte, +Signal", in: inventory)
    expect(chosen(choice, inventory), is: ["Vim", "Signal", "Dokumente", "notes.txt"])
    #expect(throws: Failure.self) { try choice.apply("unknown", in: inventory) }
  }

  @Test(arguments: ["0", "11", "x", "3-", "-3", "5-4", "1-2-3", "3, 99", "+", "٣", "99999999999999999999"])
  func `an answer with a mistake changes nothing`(_ answer: String) throws {
    let inventory = try inventory(try germanHome(), apps)
    var choice = PlanChoice(inventory)
    #expect(throws: Failure.self) { try choice.apply(answer) }
    expect(choice, is: PlanChoice(inventory))
  }

  @Test func `options name folders by path or key, and apps by name or identifier`() throws {
    let inventory = try inventory(try germanHome(), apps)
    var choice = PlanChoice(inventory)
    for name in ["Projekte/", "music", "org.example.notes"] { try choice.skip(Array(name.utf8), in: inventory) }
    expect(chosen(choice, inventory), is: ["Vim", "Dokumente", "notes.txt"])
    let error = #expect(throws: Failure.self) { try choice.skip(Array("a\nb".utf8), in: inventory) }
    expect(error?.description, is: #"nothing to move has the name $'a\nb'"#)
    try choice.take(apps: ["signal", "org.example.notes"], in: inventory)
    expect(choice.parts(of: inventory).map(\.name).prefix(2), is: ["Signal", "Notes"])
    try choice.take(apps: ["vim", "all"], in: inventory)
    expect(choice.parts(of: inventory).map(\.name).prefix(3), is: ["Vim", "Notes", "Signal"])
    #expect(throws: Failure.self) { try choice.take(apps: ["none"], in: inventory) }
  }

  @Test func `an app that moves without the keyring that it needs is known`() throws {
    let scratch = try germanHome()
    let apps = [
      MovableApp(.described, identifier: "browser", name: "Browser", needs: ["keyring", "wallet"]),
      MovableApp(.described, identifier: "keyring", name: "Keyring"),
    ]
    let inventory = try inventory(scratch, apps)
    var choice = PlanChoice(inventory)
    expect(choice.unmetNeeds(of: 0, in: inventory), is: [])
    try choice.apply("2")
    expect(choice.unmetNeeds(of: 0, in: inventory), is: ["Keyring"])
    try choice.apply("1")
    expect(choice.unmetNeeds(of: 0, in: inventory), is: [])
  }

  @Test func `apps come first, then what runs by itself, then folders by key, then other items`() throws {
    let scratch = try germanHome()
    var inventory = try inventory(scratch, apps)
    try inventory.measure(until: StopSignal())
    var choice = PlanChoice(inventory)
    try choice.apply("+8")
    let parts = choice.parts(of: inventory)
    expect(
      parts.map(\.name), is: ["Notes", "Vim", ".bashrc", "Dokumente", "Dokumente/Musik", "Projekte", "notes.txt"])
    expect(parts[3].contents, is: .home([place("documents", "Dokumente")]))
    let root = Root(kind: .directory, name: Array("documents".utf8))
    expect(parts[3].contents([root]), is: .role("home", [root]))
  }

  @Test func `a browser moves behind the folders, since it may show the page`() throws {
    let browser = MovableApp(.described, identifier: "org.mozilla.firefox", name: "Firefox")
    let inventory = try inventory(try germanHome(), [browser] + apps)
    expect(PlanChoice(inventory).parts(of: inventory).map(\.name).last, is: "Firefox")
  }

  @Test func `an app that is in use is tried last`() throws {
    let running = MovableApp(.described, identifier: "a", name: "A", inUse: "a, process 7")
    let inventory = try inventory(try germanHome(), [running] + apps)
    var choice = PlanChoice(inventory)
    expect(choice.parts(of: inventory).map(\.name).last, is: "A")
    try choice.take(apps: ["a", "org.example.notes"], in: inventory)
    expect(
      choice.parts(of: inventory).map(\.name),
      is: ["Notes", "Dokumente", "Dokumente/Musik", "Projekte", "notes.txt", "A"])
  }

  @Test func `a source of a part has the roots by key, and nothing of another part`() throws {
    let scratch = try germanHome()
    let inventory = try inventory(scratch, apps)
    let home = SharedDirectory(try Directory.open(scratch.path))
    let parts = PlanChoice(inventory).parts(of: inventory)
    var parents: [[UInt8]: SharedDirectory] = [:]
    func summary(_ part: ChosenPart) throws -> SourceSummary {
      try FolderSource(roots: try part.roots(in: home, sharing: &parents), selecting: part.selection)
        .prepare(until: StopSignal())
    }
    let keyed = try parts[2...3].map { try summary($0) }
    expect(
      keyed.map { $0.contents.roots.map { String(decoding: $0.name, as: UTF8.self) } }, is: [["documents"], ["music"]])
    expect(keyed.reduce(Tally()) { $0.adding($1.total) }, is: Tally(items: 4, bytes: 1500))
    expect(try parts[4...5].map { try summary($0).total }, is: [Tally(items: 1), Tally(items: 1, bytes: 1)])
    expect(
      try FolderSource(roots: try parts[3].roots(in: home, sharing: &parents), selecting: parts[3].selection).origin(),
      is: [scratch.at("Dokumente/Musik")])
  }
}
