import Expectations
import MigrationSystem
import MigrationTransfer
import MigrationWire
import Testing

@testable import MigrationEngine
@testable import peer

/// What a person, or a program, answers about the other device's plan.
@Suite struct ConsentEntryTests {
  private static let bashrc = Array(".bashrc".utf8)

  private static let blanks = Array(
    "two  blanks, and more than one line of a terminal has room for: two  blanks, and more than".utf8)

  /// Folders with a start file, an app, and an app with secrets.
  private static func plan(
    _ options: ArrivalClasses = .files, _ answers: Consent = Consent(), removing removed: [Int: String] = [:]
  ) -> IncomingPlan {
    var arrivals = [
      PartArrival(name: ".bashrc, notes, and more", roots: [.apps, .files, .files], places: [.apps: [bashrc]]),
      PartArrival(name: "LibreOffice", roots: [.apps]), PartArrival(name: "Firefox", roots: [.secrets]),
    ]
    for (number, root) in removed {
      let place = Array("\(root) here".utf8)
      arrivals[number].removed = [RemovedArrivals(root: Array(root.utf8), place: place, items: 1200)]
    }
    let parts = [
      Part(.folders([bashrc, Array("notes".utf8), blanks].map { Root(kind: .file, name: $0) }), name: "a"),
      Part(.files(of: "x", [Root(kind: .directory, name: [0x63])]), name: "Wedding\u{202E}", bytes: 10, items: 2),
      Part(.files(of: "y", [Root(kind: .directory, name: [0x63])]), name: "Firefox"),
    ]
    let wanted = parts.indices.compactMap { number in
      Offer(estimated: parts[number]).map { offer in
        ReceiverEngine.WantedPart(
          number: UInt16(number), part: parts[number], offer: offer,
          room: ReceiverEngine.Examination(availableBytes: 7_000_000_000, arrival: arrivals[number]))
      }
    }
    return IncomingPlan(
      ConsentQuestion(
        parts: wanted, refused: [], planned: 0, label: "old\u{1B}", address: "192.0.2.7", answers: answers,
        isLater: false), allowing: options)
  }

  /// The answer of these lines, and the mistakes that stood with the questions.
  private static func answer(_ plan: IncomingPlan, _ lines: [String]) -> (ConsentAnswer?, mistakes: Int, secrets: Int) {
    var (lines, mistakes, secrets) = (lines[...], 0, 0)
    let answer = ConsentEntry.answer(plan) { asked, mistake in
      if mistake != nil { mistakes += 1 }
      if asked.subject == .secrets { secrets += 1 }
      return lines.popFirst().map { .line(Array($0.utf8)) } ?? .endOfInput
    }
    return (answer, mistakes, secrets)
  }

  private static let files: [UInt16: ArrivalClasses] = [0: .files, 1: [], 2: []]
  private static let apps: [UInt16: ArrivalClasses] = [0: [.files, .apps], 1: .apps, 2: []]
  private static let all: [UInt16: ArrivalClasses] = [0: [.files, .apps], 1: .apps, 2: .secrets]

  @Test(arguments: [
    (["y", "n"], ConsentAnswer.yes(taking: apps)), (["yes", ""], .yes(taking: apps)),
    (["Y\r", "y"], .yes(taking: all)),
    (["all", "yes"], .yes(taking: all)), (["files"], .yes(taking: files)), (["n"], .no), ([""], .no), (["  "], .no),
    ([], .no), (["y"], .yes(taking: apps)), (["files without 1"], .yes(taking: [1: [], 2: []])),
    (["y without 1, 3"], .yes(taking: [1: .apps])), (["all  without 2 , 1", "y"], .yes(taking: [2: .secrets])),
    (["y", "y without 3"], .yes(taking: apps)),
  ])
  func `each documented answer means what it says`(lines: [String], answer: ConsentAnswer) {
    let (found, mistakes, _) = Self.answer(Self.plan(), lines)
    expect(found == answer && mistakes == 0)
  }

  @Test(arguments: [
    "all without 2 3", "all without", "all without ", "a", "without 2", "all without 4", "all without 0",
    "all without 02x",
    "all without +2", "all without 2,", "all without ,", "all without 2;3", "y 2", "n without 1", "all without 2-3",
    "yy",
    "all without 99999999999999999999", "all without ２",
  ])
  func `anything else is asked for again`(line: String) {
    let plan = Self.plan()
    expect(plan.answer(Array(line.utf8)) == nil)
    expect(Self.answer(plan, [line, "files"]) == (.yes(taking: Self.files), 1, 0))
    expect(Self.answer(plan, [line, line, line, "y"]) == (.no, 2, 0))
    // A second answer that is none takes no secret.
    expect(Self.answer(plan, ["y", line, line, line]) == (.yes(taking: Self.apps), 2, 3))
  }

  @Test func `a line for another question answers nothing`() {
    func answer(_ line: String) -> String? {
      ProgramQuestioner.answer(Array(line.utf8), to: 2).map { String(decoding: $0, as: UTF8.self) }
    }
    expect(answer("#2 all without 3") == "all without 3" && answer("all") == "all" && answer("") == "")
    expect(["#1 all", "#22 all", "#2", "#", "# all"].map(answer), is: [nil, nil, nil, nil, nil])
  }

  @Test func `an interruption answers neither question`() {
    expect(ConsentEntry.answer(Self.plan()) { _, _ in .interrupted } == nil)
    expect(
      ConsentEntry.answer(Self.plan()) { asked, _ in asked.subject == .consent ? .line([0x79]) : .interrupted } == nil)
  }

  @Test func `options need no question, and an earlier refusal is shown and may be taken`() {
    expect(Self.answer(Self.plan(.all), ["y"]) == (.yes(taking: Self.all), 0, 0))
    expect(Self.plan().isSpecial && Self.plan([.files, .apps]).isSpecial && !Self.plan(.all).isSpecial)
    var answers = Consent()
    let entry = Self.plan().entries[1]
    answers.note([([], entry.part, entry.arrival)])
    let again = Self.plan(.files, answers)
    expect(again.text(columns: 80).contains("(2)  LibreOffice"))
    expect(Self.answer(again, ["y"]).0, is: .yes(taking: [0: [.files, .apps], 1: [], 2: []]))
    expect(Self.answer(again, ["all"]).0, is: .yes(taking: Self.apps))
  }

  @Test(
    arguments: [
      ("again", [0: ["a": true], 1: ["c": true]]), ("meant", [0: ["a": false], 1: ["c": false]]),
      ("again without 2", [0: ["a": true], 1: ["c": false]]), ("meant without 2, 1", [0: ["a": true], 1: ["c": true]]),
      ("", [:]),
    ] as [(String, [UInt16: [String: Bool]])])
  func `a person says for each folder whether what was removed here arrives again`(
    line: String, said: [UInt16: [String: Bool]]
  ) {
    let plan = Self.plan(removing: [0: "a", 1: "c"])
    let removals = said.mapValues { roots in
      Dictionary(uniqueKeysWithValues: roots.map { (Array($0.key.utf8), $0.value) })
    }
    expect(Self.answer(plan, ["y", "n", line]) == (.yes(taking: Self.apps, removals: removals), 0, 1))
    // What was not answered is asked about in the next run.
    expect(Self.answer(plan, ["y", "n"]) == (.yes(taking: Self.apps), 0, 1))
    expect(Self.answer(plan, ["y", "n", "yes", "again without 3", line]).mistakes, is: 2)
    // Nothing is asked about a part that is not taken.
    expect(plan.removals(after: [0: [], 1: .apps]).map(\.removed.place), is: [Array("c here".utf8)])
    expect(
      IncomingPlan.removalPrompt(plan.removals(after: Self.apps)).hasPrefix(
        "Moved or removed here since it arrived: 1 'a here' (1,200 items), 2 'c here' (1,200 items).\n"))
  }

  @Test func `this device's own names are shown, the sender's only as quotations, and no control reaches the terminal`()
  {
    let text = Self.plan().text(columns: 80)
    expect(!text.contains("\u{1B}") && !text.contains("\u{202E}"))
    expect(
      text,
      is: """

        $'old\\x1b' (192.0.2.7) wants to send:
        Files:
         1   named below                    …  the other device calls it 'a'
             notes
             'two  blanks, and more than one line of a terminal has room for: two  blanks, and more than'
        Apps' data, which may hold what programs run:
         1   .bashrc                        …
         2   LibreOffice          2      10 B
             data of an app; the other device calls it $'Wedding\\u202e'
        Secrets, and what makes a computer itself, which the next question is about:
         3   Firefox                        …  data of an app
        Total: 3 parts, 2 items, 10 B; 7.0 GB free here

        """)
    expect(IncomingPlan.secretPrompt(Array(Self.plan().entries[2...])), is: "Take these secrets too: 3 Firefox? [y/N] ")
    let json = Self.plan().members.json
    expect(json.contains(#""number":2,"name":"LibreOffice","part":"Wedding\u202e""#))
    expect(
      json.contains(
        #""classes":["files","apps"],"ticked":["files","apps"],"places":[{"class":"apps","paths":[{"path":".bashrc"}]}]"#
      ))
  }
}
