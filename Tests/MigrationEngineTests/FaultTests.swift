import MigrationWire
import Testing

@testable import MigrationEngine

/// Faults: the report to each end, and the consequences.
@Suite struct FaultTests {
  @Test func `the other end gets a hint, except for a lost connection`() {
    let full = Fault(.noSpace, "it is full")
    #expect(full.close == Close(.noSpace, "it is full", hint: full.hint))
    #expect(full.hint != nil)
    let cut = Fault(.connection, "the connection was lost")
    #expect(cut.close == Close(.silent, "the connection was lost"))
    #expect(cut.failure.hint == "Start the same command on both devices again.")
    let advised = Fault(.exists, "it is taken", hint: "Go away.", telling: "taken", toldHint: "Come back.")
    #expect(advised.close == Close(.exists, "taken", hint: "Come back."))
    #expect(advised.failure == TransferFailure(.refused, "it is taken", hint: "Go away."))
    #expect(Fault(.exists, "it is taken", hint: "Go away.").close.hint == "Go away.")
  }

  @Test func `a fault decides the exit code, unless another one is given`() {
    #expect(Fault(.source, "there is none").kind == .usage)
    #expect(Fault(.source, "there is none", as: .failed).kind == .failed)
  }

  @Test func `the sender reconnects after a lost connection, and the receiver also waits for its user`() {
    let faults: [(fault: Fault, isReconnectable: Bool, mayComeBack: Bool)] = [
      (Fault(.connection, "cut"), true, true), (Fault(told: Close(.silent, "silence")), true, true),
      (Fault(told: Close(.interrupted, "away")), false, true), (Fault(told: Close(.noSpace, "full")), false, false),
      (Fault(.storage, "the disk fails"), false, false), (.interrupted(.sender, by: .interrupted), false, false),
    ]
    for (fault, isReconnectable, mayComeBack) in faults {
      #expect(fault.isReconnectable == isReconnectable)
      #expect(fault.senderMayComeBack == mayComeBack)
      #expect(fault.isTold == fault.message.hasPrefix("the other device "))
    }
  }

  @Test func `a violation is reported as a violation`() {
    #expect(Fault(Violation(.announcement, "too much")).code == .announcement)
    #expect(Fault(Violation(.state, "not now")).code == .violation)
  }
}
