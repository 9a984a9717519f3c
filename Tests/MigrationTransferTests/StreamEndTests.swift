import MigrationEngine
import MigrationWire
import Testing

@testable import MigrationTransfer

/// The consequence of a data stream's end for its session at the sender.
@Suite struct StreamEndTests {
  @Test func `a refused stream is replaced, and any other CLOSE ends the session`() {
    let errors: [(any Error, String)] = [
      (Close(.silent, "stream 3 has joined before"), "\"stream 3 has joined before\""),
      (AbortReason.unknownPeer, "the other device has no session for them"),
    ]
    for (error, reason) in errors {
      let refused = SenderEngine.StreamEnd(by: error, hasBrought: false)
      guard case .turnedAway(let fault) = refused else {
        Issue.record("\(refused)")
        continue
      }
      #expect(fault.isReconnectable && fault.message.hasPrefix("the data connections keep breaking: "))
      #expect(fault.message.hasSuffix(reason))
    }
    for code in [Close.Code.violation, .noSpace, .superseded, .interrupted] {
      let end = SenderEngine.StreamEnd(by: Close(code, "no"), hasBrought: true)
      guard case .failed(let fault) = end else {
        Issue.record("\(end)")
        continue
      }
      #expect(fault.code == .told(code))
    }
  }
}
