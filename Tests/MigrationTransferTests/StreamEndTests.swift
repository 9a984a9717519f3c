import MigrationEngine
import MigrationWire
import Testing

@testable import MigrationTransfer

/// The consequence of a data stream's end for its session at the sender.
@Suite struct StreamEndTests {
  @Test func `a stream that the receiver does not take is replaced, and any other CLOSE ends the session`() {
    let refused = SenderEngine.StreamEnd(by: Close(.silent, "stream 3 has joined before"), hasBrought: false)
    guard case .turnedAway(let fault) = refused else {
      Issue.record("\(refused)")
      return
    }
    #expect(fault.isReconnectable && fault.message.hasSuffix("stream 3 has joined before"))
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
