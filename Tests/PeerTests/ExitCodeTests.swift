import Expectations
import MigrationEngine
import MigrationTransfer
import MigrationWire
import PeerTransfer
import Testing

@testable import peer

@Suite struct ExitCodeTests {
  private func list(_ reasons: NotStored.Reason...) -> NotStoredList {
    var list = NotStoredList()
    for reason in reasons { list.note(.notStored(NotStored(path: [0x61], reason))) }
    return list
  }

  @Test func `a transfer without missing items is done`() {
    expect(ExitCode.of(Samples.result(), unsent: NotStoredList()), is: 0)
  }

  @Test func `sockets and devices alone do not count`() {
    expect(ExitCode.of(Samples.result(unsent: 2), unsent: list(.notSendable, .notSendable)), is: 0)
  }

  @Test func `in an app's data they count`() {
    var list = NotStoredList()
    let app = AppIdentity(bundleIdentifier: "a", store: "", platform: "", version: "")
    list.note(.offer(Offer(contents: .app(app), items: 1, bytes: 1, allocated: 1), availableBytes: nil))
    // A new session names them again.
    list.note(.resumed(heldBytes: 0))
    list.note(.notStored(NotStored(path: [0x61], .notSendable)))
    expect(ExitCode.of(Samples.result(unsent: 1), unsent: list), is: 8)
  }

  @Test(arguments: [NotStored.Reason.vanished, .unreadable, .keepsChanging, .beyondLimits])
  func `any other missing item counts`(reason: NotStored.Reason) {
    expect(ExitCode.of(Samples.result(unsent: 2), unsent: list(.notSendable, reason)), is: 8)
  }

  @Test func `unnamed items count`() {
    expect(ExitCode.of(Samples.result(unsent: 3), unsent: list(.notSendable)), is: 8)
  }

  @Test(
    arguments: [
      (.failed, 1), (.usage, 2), (.pairing, 3), (.refused, 4), (.connectionLost, 5), (.noSpace, 6), (.importFailed, 7),
      (.exportFailed, 9), (.busy, 10), (.interrupted, 130), (.terminated, 143),
    ] as [(Failure.Kind, Int32)])
  func `every failure has its code`(kind: Failure.Kind, code: Int32) {
    expect(ExitCode.of(Failure(.failed, "", as: kind)), is: code)
    expect("\(kind)", is: kind.name)
  }
}
