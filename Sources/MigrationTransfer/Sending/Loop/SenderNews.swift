import MigrationDiscovery
import MigrationEngine
import MigrationSystem
import MigrationTLS

/// A worker's report to the sender's loop: an event for the engine, and a value that the loop keeps
/// for the next worker.
enum SenderNews: Sendable {
  case event(SenderEngine.Event)
  /// The worker of `lookUpUnfinished` has ended.
  case lookedUp([SendingTransfer.Unfinished])
  /// The worker of `look` has ended.
  case found([NearbyDevice])
  /// The worker of `probe` has ended, and has reached the receiver: the first of its addresses.
  case probed(DeviceAddress, [SocketAddress])
  /// The worker of `deriveSecret` has ended.
  case derived(PairingKeys)
  /// The worker of `dial` has ended, and has met the receiver.
  case met(Encounter)
}

/// The start of a pairing: the secret of the code, and a fresh key.
struct PairingKeys: Sendable {
  let secret: PairingSecret
  let identity: Identity
}

/// The receiver, as the worker that has met it leaves it to the loop.
struct Encounter: Sendable {
  let meeting: SenderEngine.Meeting
  let connection: RestingConnection
  let transfer: SendingTransfer
  /// How data streams reach the same receiver.
  let way: WayToReceiver
}
