import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// Failures: the report to each end, and the consequences.
@Suite struct FailureTests {
  @Test func `the other end gets the code, the cause and the values, and text only where these do not say all`() {
    expect(
      Failure(.storage, "it fails", name: [0x61], by: Failure.SystemCause(number: 5, words: "no")).close,
      is: Close(.storage, name: [0x61], error: 5))
    expect(Failure(.connection, "the connection was lost").close, is: Close(.silent))
    expect(Failure(.importFailed, "the app says no").close, is: Close(.importFailed, "the app says no"))
    expect(Failure(.source, "there is none").close, is: Close(.exportFailed, for: .unreadable))
    for (code, cause) in [
      (.collision, .collision), (.inUse, .inUse), (.appHasData, .appHasData), (.importCancelled, .cancelled),
      (.reserved, .reserved),
    ] as [(Failure.Code, Close.Cause)] {
      expect(Failure(code, "").close.cause, is: cause)
    }
    expect(
      Failure.idle.close == Close(.silent, for: .idle) && Failure.otherKey.close == Close(.violation, for: .otherKey))
    expect(Failure(.connection, "lost").hint, is: "Start the same command on both devices again.")
  }

  @Test func `a fault decides the exit code, unless another one is given`() {
    expect(Failure(.source, "there is none").kind, is: .usage)
    expect(Failure(.source, "there is none", as: .failed).kind, is: .failed)
  }

  @Test func `the sender reconnects after a lost connection, and the receiver also waits for its user`() {
    let faults: [(fault: Failure, isReconnectable: Bool, mayComeBack: Bool)] = [
      (Failure(.connection, "cut"), true, true), (Failure(told: Close(.silent, "silence")), true, true),
      (Failure(told: Close(.interrupted, "away")), false, true), (Failure(told: Close(.noSpace, "full")), false, false),
      (Failure(.storage, "the disk fails"), false, false), (.interrupted(by: .interrupted), false, false),
    ]
    for (fault, isReconnectable, mayComeBack) in faults {
      expect(fault.isReconnectable, is: isReconnectable)
      expect(fault.senderMayComeBack, is: mayComeBack)
      expect(fault.isTold, is: fault.message.hasPrefix("the other device "))
    }
  }

  @Test func `another code keeps a lack of descriptors, and nothing else of what the first one implied`() {
    expect(Failure(.failed, "", for: .descriptors).coded(.storage).close.cause, is: .descriptors)
    expect(Failure(.collision, "").coded(.storage).close.cause == nil)
  }

  @Test func `a part that has failed may come later if its fault can pass, and a root that was left out never`() {
    for (code, may) in [
      (.connection, true), (.storage, true), (.noSpace, true), (.importFailed, true), (.unknownKind, true),
      (.notInstalled, true), (.exists, false), (.violation, false),
    ] as [(Failure.Code, Bool)] {
      expect(PartEnd(0, "", Failure(code, "")).mayResume, is: may, "\(code)")
    }
    expect(!PartEnd(0, "", root: [97], Failure(.storage, "")).mayResume)
  }

  @Test func `a violation is reported as a violation`() {
    expect(Failure(Violation(.announcement, "too much")).code, is: .announcement)
    expect(Failure(Violation(.state, "not now")).code, is: .violation)
  }
}
