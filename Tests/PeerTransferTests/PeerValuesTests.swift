import Expectations
import MigrationEngine
import PeerTransfer
import Testing

/// What the library says of the engine's values.
@Suite struct PeerValuesTests {
  @Test func `each phase has the same name in the library`() {
    expect(TransferProgress.Phase.allCases.map(\.rawValue), is: PeerProgress.Phase.allCases.map(\.rawValue))
    for phase in TransferProgress.Phase.allCases {
      let progress = TransferProgress(phase: phase, bytes: 0, totalBytes: 0, items: 0, totalItems: 0)
      expect(PeerProgress(progress).phase.rawValue, is: phase.rawValue)
    }
  }
}
