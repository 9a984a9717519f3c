import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// Tells the user how to remove the data that a transfer without room has left.
final class LeftData: Sendable {
  private let transfer = Mutex<TransferID?>(nil)

  /// An event of the receiver, with that advice.
  func advising(_ event: TransferEvent) -> TransferEvent {
    switch event {
    case .transfer(let identifier): transfer.withLock { $0 = identifier }
    case .failed(let failure): return .failed(advising(failure))
    case .of(let identifier, let event):
      transfer.withLock { $0 = identifier }
      return .of(identifier, advising(event))
    default: break
    }
    return event
  }

  func advising(_ failure: Failure) -> Failure {
    guard failure.kind == .noSpace, let transfer = transfer.withLock({ $0 }) else { return failure }
    let advice = "What has arrived is kept: \(DataHint.forgetting(transfer.hexadecimal)) removes it."
    return failure.hinting(failure.hint.map { "\($0) \(advice)" } ?? advice)
  }
}
