import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// The values that the workers of one transfer share over all its sessions: the keys, the record,
/// and the traffic.
final class SendingTransfer: Sendable {
  /// A transfer that an earlier run began, and the engine's knowledge of it.
  struct Unfinished: Sendable {
    let known: SenderEngine.UnfinishedTransfer
    let transfer: SendingTransfer
  }

  let identity: Identity
  /// The other device's key: the pin.
  let receiver: KeyFingerprint
  /// The traffic of this run.
  let traffic = TrafficCount()
  /// Set when a connection of this run has fallen silent. Packets that are too large for the way
  /// may vanish without a word: later connections have small segments (Protocol §7.4).
  let hasFallenSilent = Flag()
  /// Nil until the transfer is remembered, and again when it has ended.
  private let entry: Mutex<TransferEntry?>

  init(_ identity: Identity, receiver: KeyFingerprint, entry: TransferEntry? = nil) {
    self.identity = identity
    self.receiver = receiver
    self.entry = Mutex(entry)
  }

  /// Remembers the transfer, unless it is. It can be continued by another run then. Writes to the
  /// disk.
  func remember(in store: TransferStore, _ make: () throws -> RememberedTransfer) throws {
    guard entry.withLock({ $0 == nil }) else { return }
    let new = try store.create(try make())
    entry.withLock { $0 = new }
  }

  /// Changes the record, as far as the disk allows it.
  func update(_ change: (inout RememberedTransfer) -> Void) {
    try? entry.withLock { $0 }?.update(change)
  }

  /// The receiver has said that all is done; whether that is durable now, where anything is
  /// remembered.
  func finish(_ done: Done, naming refusals: [Refusal]) -> Bool {
    do throws(StoreError) {
      try entry.withLock { $0 }?.finish(done, notStored: refusals)
      return true
    } catch {
      return false
    }
  }

  /// Forgets the transfer.
  func forget() {
    let old = entry.withLock { entry in
      defer { entry = nil }
      return entry
    }
    try? old?.remove()
  }
}

/// How a receiver is reached that was met: data streams go to the same address.
struct WayToReceiver: Sendable {
  let context: TLSContext
  let address: SocketAddress
}

/// The values that the workers of one session share.
struct SendingSession: Sendable {
  let number: SessionNumber
  let transfer: SendingTransfer
  let way: WayToReceiver
  let queue: SendQueue
  /// Whether the exporter and the user let its streams compress.
  let compression: CompressionPreference
}
