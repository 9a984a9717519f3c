import Expectations
import MigrationEngine
import MigrationTransfer
import MigrationWire
import Testing

@testable import peer

/// The report of a receiver that serves several transfers at a time.
@Suite struct SeveralReportsTests {
  private let one: TransferID = 1 << 120
  private let two: TransferID = 2 << 120

  @Test func `for a person, the other device's name is in front of each line about its transfer`() {
    var reports = SeveralReports(HumanReport(.receiver, on: .log), areNamed: true)
    func said(_ event: TransferEvent) -> String { reports.handle(event, at: Samples.moment()).standardError }
    expect(said(.of(one, .paired(label: "lap\ntop", address: "192.0.2.7"))).hasPrefix("[lap\\ntop] Paired with "))
    expect(said(.of(two, .staged)), is: "[02000000] All data has arrived.\n")
    expect(said(.of(one, .staged)), is: "[lap\\ntop] All data has arrived.\n")
    expect(said(.notice("a")), is: "peer: note: a\n")
    let failure = Failure(.noSpace, "no room", hint: "Make room.")
    expect(
      said(.of(one, .failed(failure))), is: "[lap\\ntop] peer: error: no room\n[lap\\ntop] peer: hint: Make room.\n")
    // What comes later is about another transfer.
    expect(said(.of(one, .staged)), is: "[01000000] All data has arrived.\n")
  }

  @Test func `for a program, each event has its transfer, and each transfer its progress`() {
    var reports = SeveralReports(JSONReport(), areNamed: false)
    func line(_ event: TransferEvent) -> String { reports.handle(event, at: Samples.moment()).standardOutput }
    expect(line(.of(one, .paired(label: "a", address: "b"))).contains("\"transfer\":\"01000000"))
    for transfer in [one, two] {
      let progress = TransferProgress(phase: .receiving, bytes: 1, totalBytes: 2, items: 0, totalItems: 1)
      expect(line(.of(transfer, .progress(progress))).contains("\"transfer\":\"0\(transfer >> 120)000000"))
    }
    let ticks = reports.tick(at: Samples.moment(5)).standardOutput
    expect(ticks.split(separator: "\n").count, is: 2)
    expect(!line(.notice("a")).contains("transfer"))
  }
}
