import Expectations
import MigrationEngine
import MigrationTransfer
import MigrationWire
import PeerTransfer
import Testing

@testable import peer

@Suite struct PartEndsTests {
  private let parts = Array(Samples.parts.prefix(3))

  /// The table after some events, a second apart.
  private func table(_ events: [TransferEvent]) -> String {
    var record = PartEnds()
    for (number, event) in events.enumerated() { record.note(event, at: Double(number)) }
    return record.table("peer send 'a b'")?.text(columns: 200) ?? "none"
  }

  @Test func `a transfer of one part has no table`() {
    expect(table([.offer(Samples.offer, availableBytes: nil), .done(Samples.result())]), is: "none")
  }

  @Test func `each part has a row, and the newest end of a part counts`() {
    let busy = Failure(.appInUse, "the app c is running", hint: "Close it first.")
    let events: [TransferEvent] = [
      .plan(parts, availableBytes: nil), .renamed(path: Array("a/x".utf8), target: Array("a/x (2)".utf8)),
      .partEnded(PartEnd(0, "a", Samples.result())), .partEnded(PartEnd(2, "c", busy)),
      .partEnded(PartEnd(1, "b", root: Array("music".utf8), Failure(.exists, "a file is there"))),
    ]
    let text = table(events)
    let rows = text.split(separator: "\n").map { $0.split(separator: " ").prefix(3).joined(separator: " ") }
    expect(rows.contains { $0.hasPrefix("done a") } && rows.contains("not tried b"), "\(text)")
    expect(rows.contains { $0.hasPrefix("failed c") } && rows.contains("failed: c"), "\(text)")
    expect(text.contains("the app c is running") && text.contains("Close it first."))
    expect(rows.contains { $0.hasPrefix("failed music") } && text.contains("a file is there"))
    expect(text.contains("'a/x' as 'a/x (2)'") || text.contains("a/x as 'a/x (2)'"))
    expect(text.contains("  peer send 'a b'\n") && text.contains("without a code"))
    let later = table(events + [.partEnded(PartEnd(2, "c", Samples.result()))])
    expect(!later.contains("the app c is running") && later.contains("a file is there"))
  }

  @Test func `a folder that did not arrive in an earlier run is told, with the command`() {
    func end(_ result: TransferResult) -> TransferEvent { .partEnded(PartEnd(0, "a", result)) }
    let plan = TransferEvent.plan(Array(parts.prefix(1)), availableBytes: nil)
    let text = table([plan, end(Samples.result(concludedAt: 7, failedParts: 1))])
    expect(text.contains("1 folder of it did not arrive in an earlier run") && text.contains("  peer send 'a b'\n"))
    expect(!table([plan, end(Samples.result(concludedAt: 7))]).contains("peer send"))
  }

  @Test func `where apps have data of their own and nothing else failed, the command to paste replaces it`() {
    let plan = TransferEvent.plan(parts, availableBytes: nil)
    let held = TransferEvent.partEnded(PartEnd(1, "b", Failure(.exists, "it has data", hint: DataHint.appHasData.text)))
    let text = table([plan, held])
    expect(text.contains("  peer send 'a b' --replace\n") && !text.contains("Remove the causes"))
    let missing = TransferEvent.notStored(NotStored(path: [97], .unreadable))
    let both = table([plan, held, missing, .partEnded(PartEnd(0, "a", Samples.result(unsent: 1)))])
    expect(both.contains("  peer send 'a b' --replace\n") && both.contains("Remove the causes"), "\(both)")
    let other = table([plan, held, .partEnded(PartEnd(2, "c", Failure(.appInUse, "it is in use")))])
    expect(other.contains("  peer send 'a b'\n") && other.contains("'peer receive --everything --replace'"))
  }

  @Test func `items of parts that arrived are to be sent again, and what no folder can send is not`() {
    func text(_ reason: NotStored.Reason) -> String {
      table([
        .plan(parts, availableBytes: nil), .notStored(NotStored(path: [97], reason)),
        .partEnded(PartEnd(0, "a", Samples.result(unsent: 1))), .partEnded(PartEnd(1, "b", Samples.result())),
        .partEnded(PartEnd(2, "c", Samples.result())), .done(Samples.result()),
      ])
    }
    expect(text(.unreadable).contains("What is missing follows") && text(.unreadable).contains("  peer send 'a b'\n"))
    expect(!text(.notSendable).contains("peer send"))
  }

  @Test func `a part that was changed on the new computer, and has nothing newer, is present and asks for nothing`() {
    let known = PartEnd(1, "b", Failure(.nothingNewer, "nothing is newer"))
    let text = table([
      .plan(Array(parts.prefix(2)), availableBytes: nil), .partEnded(PartEnd(0, "a", Samples.result())),
      .partEnded(known), .done(Samples.result(presentParts: 1)),
    ])
    expect(text.contains("present") && text.contains("nothing is newer on the old one"), "\(text)")
    expect(!text.contains("failed") && !text.contains("peer send"), "\(text)")
    expect(text.hasPrefix("done"), "\(text)")
  }

  @Test func `a plan of one part has all next steps`() {
    var record = PartEnds()
    record.note(.offer(Samples.offer, availableBytes: nil, of: parts[1]), at: 0)
    expect(record.arrived.isEmpty)
    let fault = Failure(.unfit, "a file is there", hint: DataHint.noFolder.text)
    record.note(.partEnded(PartEnd(0, "b", root: Array("Music".utf8), fault)), at: 1)
    record.note(.done(Samples.result(failedParts: 1)), at: 2)
    record.advice = ["Install it: apt install x"]
    expect(record.arrived, is: [parts[1]])
    let text = record.table("peer receive")?.text(columns: 200) ?? ""
    for words in ["failed: Music", "Make it a folder", "  peer receive\n", "  apt install x\n"] {
      expect(text.contains(words), "\(text)")
    }
  }

  @Test func `a failure that no session continues needs a code again`() {
    let text = table([.plan(parts, availableBytes: nil), .partEnded(PartEnd(0, "a", Failure(.exists, "it is there")))])
    expect(text.contains("peer send 'a b'") && !text.contains("without a code"))
  }

  @Test func `names of an earlier run's parts stay when a later session begins`() {
    var (list, items) = (NotStoredList(), ItemList())
    let events: [TransferEvent] = [
      .notStored(NotStored(path: [97], .vanished)), .partEnded(PartEnd(0, "a", Samples.result())),
      .notStored(NotStored(path: [98], .vanished)), .resumed(heldBytes: 1),
      .notStored(NotStored(path: [99], .vanished)), .resumed(heldBytes: 1),
      .notStored(NotStored(path: [100], .vanished)),
    ]
    for event in events {
      list.note(event)
      items.note(event)
    }
    expect(list.first.map(\.path) == [[97], [100]] && list.count == 2 && items.count == 2)
  }

  @Test func `words of a command line are quoted where a shell would change them`() {
    expect(CommandLineText.of(["send", "a b", "x\u{1B}"].map { Array($0.utf8) }), is: "peer send 'a b' $'x\\x1b'")
    let again = ["send", "--code-file", "--code-file", "--code-file=c", "--to", "h"].map { Array($0.utf8) }
    expect(CommandLineText.again(again), is: "peer send --to h")
    expect(CommandLineText.of(["send", "--to", "-", "--x y"].map { Array($0.utf8) }), is: "peer send --to '-' '--x y'")
  }
}
