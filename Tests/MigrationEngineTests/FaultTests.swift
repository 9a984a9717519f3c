import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// Faults: the report to each end, and the consequences.
@Suite struct FaultTests {
  @Test func `the other end gets the code, the cause and the values, and text only where these do not say all`() {
    let subject = TransferFailure.Subject(name: [0x61])
    expect(
      Fault(.storage, "it fails", error: 5, about: subject).close, is: Close(.storage, name: [0x61], error: 5))
    expect(Fault(.connection, "the connection was lost").close, is: Close(.silent))
    expect(Fault(.importFailed, "the app says no").close, is: Close(.importFailed, "the app says no"))
    expect(Fault(.source, "there is none").close, is: Close(.exportFailed, for: .unreadable))
    for (code, cause) in [
      (.collision, .collision), (.inUse, .inUse), (.appHasData, .appHasData), (.importCancelled, .cancelled),
      (.claimed, .claimed),
    ] as [(Fault.Code, Close.Cause)] {
      expect(Fault(code, "").close.cause, is: cause)
    }
    expect(Fault.idle.close == Close(.silent, for: .idle) && Fault.otherKey.close == Close(.violation, for: .otherKey))
    expect(Fault(.connection, "lost").failure.hint, is: "Start the same command on both devices again.")
  }

  @Test func `a fault decides the exit code, unless another one is given`() {
    expect(Fault(.source, "there is none").kind, is: .usage)
    expect(Fault(.source, "there is none", as: .failed).kind, is: .failed)
  }

  @Test func `the sender reconnects after a lost connection, and the receiver also waits for its user`() {
    let faults: [(fault: Fault, isReconnectable: Bool, mayComeBack: Bool)] = [
      (Fault(.connection, "cut"), true, true), (Fault(told: Close(.silent, "silence")), true, true),
      (Fault(told: Close(.interrupted, "away")), false, true), (Fault(told: Close(.noSpace, "full")), false, false),
      (Fault(.storage, "the disk fails"), false, false), (.interrupted(by: .interrupted), false, false),
    ]
    for (fault, isReconnectable, mayComeBack) in faults {
      expect(fault.isReconnectable, is: isReconnectable)
      expect(fault.senderMayComeBack, is: mayComeBack)
      expect(fault.isTold, is: fault.message.hasPrefix("the other device "))
    }
  }

  @Test func `a part that has failed may come later if its fault can pass, and a root that was left out never`() {
    for (code, may) in [
      (.connection, true), (.storage, true), (.noSpace, true), (.importFailed, true), (.unknownKind, true),
      (.notInstalled, true), (.exists, false), (.violation, false),
    ] as [(Fault.Code, Bool)] {
      expect(PartEnd(0, "", Fault(code, "")).mayResume, is: may, "\(code)")
    }
    expect(!PartEnd(0, "", root: [97], Fault(.storage, "")).mayResume)
  }

  @Test func `a violation is reported as a violation`() {
    expect(Fault(Violation(.announcement, "too much")).code, is: .announcement)
    expect(Fault(Violation(.state, "not now")).code, is: .violation)
  }
}
