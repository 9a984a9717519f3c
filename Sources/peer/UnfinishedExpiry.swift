import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// Forgets unfinished transfers of a receiver by the rules of its user: when it starts, once an hour,
/// and when a transfer has been left unfinished.
struct UnfinishedExpiry: Sendable {
  private static let interval = Duration.seconds(3600)

  let keeping: Keeping
  let destination: [UInt8]
  let store: TransferStore
  let tell: @Sendable (String) -> Void
  /// Whether it is time to look again.
  private let isDue = Condition(false)

  /// Looks now, and from then on in a thread of its own, to the end of the process.
  func begin() throws(SystemError) {
    look()
    _ = try OwnerThread(name: "expiry") { [self] in
      while true {
        let deadline = BootInstant.now().advanced(by: Self.interval)
        _ = isDue.wait(until: deadline) { isDue in isDue ? true : nil }
        isDue.withLock { $0 = false }
        look()
      }
    }
  }

  /// An event of the receiver; returns at once.
  func note(_ event: TransferEvent) {
    switch event.plain {
    case .failed, .interrupted:
      isDue.withLock { $0 = true }
      isDue.signal()
    default: break
    }
  }

  private func look() {
    for one in (try? store.expire(keeping, at: destination, at: store.time())) ?? [] { tell(one.sentence) }
  }
}

extension TransferStore.Expired {
  fileprivate var sentence: String {
    let why = isOld ? "it had no connection for too long (--expire)" : "more is kept than --max-kept allows"
    let what = "the unfinished transfer \(transfer.hexadecimal.prefix(8)) from \(VisibleText.of(device))"
    return "\(what), of which \(Figures.size(held)) had arrived, is forgotten: \(why)"
  }
}
