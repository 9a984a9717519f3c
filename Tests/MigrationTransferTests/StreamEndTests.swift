import Expectations
import Glibc
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import Testing

@testable import MigrationTransfer

/// The consequence of a data stream's end for its session at the sender.
@Suite struct StreamEndTests {
  @Test func `a refused stream is replaced, and any other CLOSE ends the session`() {
    let errors = [
      (ConnectionError(told: Close(.silent, "stream 3 has joined before")), "\"stream 3 has joined before\""),
      (ConnectionError(AbortReason.unknownPeer), "the other device has no session for them"),
    ]
    for (error, reason) in errors {
      let refused = SenderEngine.StreamEnd(by: error, hasBrought: false)
      guard case .turnedAway(let fault) = refused else {
        Issue.record("\(refused)")
        continue
      }
      expect(fault.isReconnectable && fault.message.hasPrefix("the data connections keep breaking: "))
      expect(fault.message.hasSuffix(reason))
    }
    for code in [Close.Code.violation, .noSpace, .superseded, .interrupted] {
      let end = SenderEngine.StreamEnd(by: ConnectionError(told: Close(code, "no")), hasBrought: true)
      guard case .failed(let fault) = end else {
        Issue.record("\(end)")
        continue
      }
      expect(fault.code, is: .told(code))
    }
  }
}

/// The errors of the layers below, as a worker's loop reports them.
@Suite struct FailureCauseTests {
  @Test func `a full disk of the records is told as such on both devices`() {
    let fault = Failure(store: "the record cannot be written", SystemError(errno: ENOSPC, operation: "write"))
    expect(fault.kind == .noSpace && fault.hint?.contains("PEER_HOME") == true)
    let told = Failure(told: fault.close)
    expect(told.kind == .noSpace && told.message.contains("its disk with the records of transfers is full"))
  }

  @Test func `every error arrives with its own code and words`() throws {
    let violation = Violation(.value, "a thing")
    let causes: [(any Error, Failure.Code, String)] = [
      (violation, .violation, violation.description),
      (Violation(.announcement, "a thing"), .announcement, Violation(.announcement, "a thing").description),
      (SystemError(reason: "no", operation: "read"), .failed, SystemError(reason: "no", operation: "read").description),
      (Failure(.idle, "words"), .idle, "words"), (Failure(.usage, "words"), .usage, "words"),
      (ConnectionError(.lost, "words"), .connection, "words"),
      (ConnectionError(.closed, "words"), .connection, "words"),
      (ConnectionError(.refused, "words"), .connection, "words"),
      (ConnectionError(.timedOut, "words"), .connection, "words"),
      (ConnectionError(.stopped, "words"), .connection, "words"),
      (ConnectionError(.violated, "words"), .violation, "words"),
      (ConnectionError(.unproved, "words"), .failed, "words"),
      (ConnectionError(violation), .violation, violation.description),
      (ConnectionError(AbortReason.busy), .busy, AbortReason.busy.failure.message),
      (ConnectionError(told: Close(.noSpace, "full")), .told(.noSpace), Failure(told: Close(.noSpace, "full")).message),
      (
        ConnectionError.stranger(KeyFingerprint(digest: [UInt8](repeating: 1, count: 32))), .pairing,
        Failure.otherKey.message
      ),
    ]
    for (error, code, message) in causes {
      let fault = Failure(error)
      expect(fault.code == code && fault.message == message && "\(fault)" == message, "\(error)")
    }
    let tls = try #require(throws: TLSError.self) { try Identity(encoded: [1]) }
    expect(Failure(tls).code == .failed && Failure(tls).message == tls.description)
  }
}
