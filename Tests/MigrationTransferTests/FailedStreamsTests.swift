import Expectations
import MigrationEngine
import Testing

@testable import MigrationTransfer

@Suite struct FailedStreamsTests {
  @Test func `a stop ends the last messages of a failed stream, and no other work`() throws {
    let failedStreams = ReceiverSetup.FailedStreams()
    let (parting, gone) = (try ServedConnection(ConnectionID(1)), try ServedConnection(ConnectionID(2)))
    failedStreams.during(gone) {}
    failedStreams.during(parting) {
      expect(!parting.dismissal.isDismissed)
      failedStreams.dismiss()
      expect(parting.dismissal.isDismissed)
    }
    expect(!gone.dismissal.isDismissed)
  }
}
