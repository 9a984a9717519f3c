import Expectations
import MigrationSystem
import MigrationWire
import PeerTransfer
import TestSupport
import Testing

@testable import MigrationApps
@testable import peer

@Suite struct PlanTableTests {
  private let scratch: Scratch
  private let inventory: Inventory

  init() throws {
    scratch = try Scratch()
    scratch.write("Documents/letter.txt", [UInt8](repeating: 1, count: 3000))
    scratch.write("a\u{1b}[31m name that is longer than a narrow terminal", "x")
    scratch.write(".bashrc", "alias")
    scratch.makeDirectory(".cache")
    let apps = [
      MovableApp(
        .flatpak, identifier: "org.signal.Signal", name: "Signal", isIdentity: true, needs: ["org.gnome.keyring"],
        inUse: "signal, process 7")
    ]
    var inventory = try Inventory(of: SharedDirectory(try Directory.open(scratch.path)), apps: apps)
    try inventory.measure(until: StopSignal())
    self.inventory = inventory
  }

  private func text(columns: Int) -> [String] {
    PlanTable(inventory: inventory, choice: PlanChoice(inventory)).text(columns: columns).split(separator: "\n").map(
      String.init)
  }

  @Test func `at 200 columns, each entry has one line with its figures and notes`() {
    expect(
      text(columns: 200),
      is: [
        "Apps:",
        "(1)  Signal                                                                     …  "
          + "makes this computer itself: link the app anew, or add it; in use by signal, process 7: close it first",
        "Folders and files:",
        " 2   Documents                                                        2    3.0 kB",
        #" 3   $'a\x1b[31m name that is longer than a narrow terminal'          1       1 B"#,
        "Only if you add them: programs run by themselves what these contain:",
        "(4)  .bashrc                                                          1       5 B",
        "A number in parentheses does not move; with a plus sign it does, such as: +3",
        "Left out, also what is marked as a cache in the data of apps:",
        "     .cache: a cache, which programs make again",
        "To move: 2 entries, 3 items, 3.0 kB",
      ])
  }

  @Test(arguments: [40, 80, 200])
  func `no line is wider than the terminal, and no control character reaches it`(columns: Int) {
    let lines = text(columns: columns)
    expect(lines.allSatisfy { $0.count < columns })
    expect(lines.allSatisfy { !$0.unicodeScalars.contains { $0.value < 32 } })
    expect(lines.contains { $0.contains("Documents") && $0.hasSuffix("3.0 kB") })
  }

  @Test func `letters that are two columns wide are counted so`() {
    var rows = SizedRows()
    for name in ["日本語のフォルダー", "folder"] {
      rows.append(.item(mark: "1", name: name, items: 1, bytes: 2, note: nil))
    }
    let lines = rows.text(columns: 40).split(separator: "\n").map { SizedRows.columns(of: String($0)) }
    expect(lines.count == 2 && lines[0] == lines[1] && lines[0] < 40)
    expect(SizedRows.cut("日本語", to: 5) == "日本…" && SizedRows.cut("日本語", to: 4) == "日…")
  }

  @Test func `500 entries have a number each`() throws {
    for number in 0..<500 { scratch.write("file \(number)", "x") }
    let inventory = try Inventory(of: SharedDirectory(try Directory.open(scratch.path)), apps: [])
    let table = PlanTable(inventory: inventory, choice: PlanChoice(inventory)).text(columns: 40).split(separator: "\n")
    expect(table.contains { $0.hasPrefix(" 502   'file 99'") && $0.hasSuffix("…") })
    expect(table.suffix(2).joined(separator: " "), is: "To move: 502 entries, at least 0 items, 0 B")
  }

  @Test func `programs get the exact names, and what is chosen`() {
    let text = PlanTable(inventory: inventory, choice: PlanChoice(inventory)).json.json
    expect(text.contains(#"{"number":1,"chosen":false,"kind":"flatpak","name":"Signal","identifier":"org.signal"#))
    expect(
      text.contains(
        #"{"number":2,"chosen":true,"kind":"folder","name":"Documents","key":"documents","mayRun":false,"#
          + #""secret":false,"items":2,"bytes":3000}"#))
    expect(text.contains(#""needs":["org.gnome.keyring"]"#))
    expect(text.hasSuffix(#""leftOut":[{"path":".cache","reason":"a cache, which programs make again"}]}"#))
  }

  @Test(arguments: [(0, "3.0 kB"), (1 << 40, "0 B")] as [(Int64, String)])
  func `after an earlier move, each entry says how much of it crosses, and the total too`(
    move: Int64, crossing: String
  ) throws {
    let app = MovableApp(
      .described, identifier: "org.example.notes", name: "Notes",
      places: [HomeItem(root: Array("data".utf8), path: Array(".bashrc".utf8), kind: .file)])
    var inventory = try Inventory(of: SharedDirectory(try Directory.open(scratch.path)), apps: [app])
    inventory.lastMove = Timestamp(seconds: move, nanoseconds: 0)
    try inventory.measure(until: StopSignal())
    let table = PlanTable(inventory: inventory, choice: PlanChoice(inventory))
    let lines = table.text(columns: 200).split(separator: "\n").map(String.init)
    expect(lines.contains { $0.contains("Documents") && $0.hasSuffix("will send at most \(crossing)") })
    let sum = move == 0 ? "3.0 kB" : "5 B"
    expect(
      lines.last,
      is: "To a computer that has the last move: will send at most \(sum) of 3.0 kB; "
        + "of that 5 B are apps, whose data crosses as a whole")
    expect(table.json.json.contains(#""bytes":5,"crossingBytes":5}"#))
  }
}

@Suite struct MigrationTableTests {
  private let table = MigrationTable(
    rows: [
      .init(name: "Firefox", state: .done, items: 1204, bytes: 225_000_000, sentBytes: 2_000, seconds: 3.2),
      .init(
        name: "Notes", state: .failed, reason: "the app is running", hint: "Close it, and run the same commands again."),
      .init(
        name: "Documents", state: .done, items: 10, bytes: 900,
        renamed: [.init(path: Array("documents/a.txt".utf8), target: Array("Dokumente/a (2).txt".utf8))], missing: 1),
    ], leftOut: [Omission(Array(".cache".utf8), .cache)],
    next: ["To move the missing parts, run the same command again: peer send --everything"])

  @Test func `each part has its result, its reason and what to do`() {
    expect(
      table.text(columns: 60),
      is: """
        failed: Notes
          the app is running.
          Close it, and run the same commands again.
        in part: Documents
          1 item of it did not arrive
        To move the missing parts, run the same command again:
          peer send --everything
        done     Firefox        1,204    225 MB
                 2.0 kB crossed in 3.2 s
        failed   Notes              0       0 B
        in part  Documents         10     900 B
        Arrived under another name, since an item has the name:
                 documents/a.txt as 'Dokumente/a (2).txt'
        Not moved:
                 .cache: a cache, which programs make again

        """)
    expect(!table.isComplete)
  }

  @Test func `the first 24 lines of 200 findings say what a person has to do`() {
    let declined = (0..<100).map {
      MigrationTable.Row(
        name: "App \($0)", state: .failed, isDeclined: true, reason: "it was not accepted", hint: "Accept it.")
    }
    let failed = (0..<100).map {
      MigrationTable.Row(
        name: "Other \($0)", state: .failed, reason: "other \($0) is running", hint: "Close \($0 / 2).")
    }
    let table = MigrationTable(rows: declined + failed, next: ["Run it again: peer send --everything"])
    let lines = table.text(columns: 80).split(separator: "\n").prefix(21).map(String.init)
    expect(lines[0] == "not taken: App 0, App 1, App 2 and 97 more" && lines.contains("  Accept it."))
    expect(lines.contains("failed: Other 6, Other 7") && lines.contains("  and 46 more causes, named below"))
    expect(lines.contains("  other 6 is running; the others alike, below."))
    expect(lines.contains("Run it again:") && lines.contains("  peer send --everything"))
    expect(table.text(columns: 80).contains("other 99 is running"))
  }

  @Test(arguments: [40, 80, 200])
  func `the table fits the terminal`(columns: Int) {
    expect(table.text(columns: columns).split(separator: "\n").allSatisfy { $0.count < columns })
  }

  @Test func `a program gets the same`() {
    let text = table.json.json
    expect(
      text.hasPrefix(
        #"{"parts":[{"name":"Firefox","state":"done","items":1204,"bytes":225000000,"sentBytes":2000,"seconds":3.2,"missing":0,"renamed":[]},"#
      ))
    expect(text.contains(#""renamed":[{"path":"documents/a.txt","target":"Dokumente/a (2).txt"}]}]"#))
  }
}
