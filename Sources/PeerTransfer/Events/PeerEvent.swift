import MigrationEngine
import MigrationWire

/// Something that happens on the way of a transfer.
///
/// Cases are added as the program learns more: a `switch` over them has a `default`. Names come from the other device; a
/// ``PeerPath`` and a ``PeerDevice`` are safe to show by their descriptions, and every other text is safe as it is.
public enum PeerEvent: Equatable, Sendable {
  /// The receiver can be reached at this port, by these addresses, the most useful first.
  case listening(addresses: [String], port: UInt16)
  /// The receiver can be found on its networks under this name.
  case announced(name: String)
  /// The receiver cannot be found on its networks, and why.
  case unannounced(reason: String)
  /// A code to show to the person who carries it to the other device, and for how long it works.
  case code(PeerCode, lifetime: Duration)
  /// The code that the receiver was given may be used from now on, for so long.
  case codeAwaited(lifetime: Duration)
  /// A wrong code was entered, the so-manieth for the code that is shown.
  case wrongCode(attempt: Int, of: Int, from: String)
  /// So many wrong codes were entered that the receiver takes no more; it ends with ``PeerError/Kind/pairing``.
  case codesSpent(count: Int)
  /// The sender looks for receivers on its networks.
  case looking
  /// The sender has found the only one.
  case found(PeerDevice)
  /// The sender reaches out to an address.
  case connecting(address: String)
  /// Both devices are sure of each other.
  case paired(PeerDevice)
  /// What is to be transferred.
  case offer(PeerOffer)
  case progress(PeerProgress)
  /// The connection is lost; it is made again when that is possible.
  case interrupted(reason: String)
  /// The transfer goes on, and so many bytes are there already.
  case resumed(heldBytes: UInt64)
  /// Everything has arrived and agrees with what the sender meant.
  case staged
  /// What has arrived is put in place.
  case importing
  /// Something that is worth knowing and ends nothing.
  case notice(String)
  /// An item could not be sent, or was left out since something else has its name at the destination.
  case unsent(PeerPath, reason: String)
  /// The destination cannot hold an item.
  case notStored(PeerPath, reason: String)
  /// Something arrived under another name, since its own was taken.
  case renamed(PeerPath, as: PeerPath)
  /// The transfer is done.
  case done(PeerResult)
  /// The transfer, or the wait for one, has come to nothing.
  case failed(PeerError)
  /// So many events were left out, since those before them were not read.
  case missed(UInt64)
}

extension PeerEvent {
  /// What the engine tells, in the words of this interface; nil for what only the command has. `isComplete` is about a transfer
  /// that is done.
  init?(_ event: TransferEvent, isComplete: Bool) {
    switch event {
    case .listening(let listening): self = .listening(addresses: listening.addresses, port: listening.port)
    case .announced(let name): self = .announced(name: VisibleText.of(name))
    case .unannounced(let reason): self = .unannounced(reason: VisibleText.message(reason))
    case .code(let code, let lifetime): self = .code(PeerCode(code), lifetime: .seconds(lifetime))
    case .codeAwaited(let lifetime): self = .codeAwaited(lifetime: .seconds(lifetime))
    case .wrongCode(let attempt, let allowed, let address, _):
      self = .wrongCode(attempt: attempt, of: allowed, from: VisibleText.of(address))
    case .codesSpent(let count, _, _): self = .codesSpent(count: count)
    case .looking: self = .looking
    case .found(let label, let address): self = .found(PeerDevice(name: label, host: address))
    case .connecting(let address): self = .connecting(address: VisibleText.of(address))
    case .paired(let label, let address): self = .paired(PeerDevice(name: label, host: address))
    case .offer(let offer, let room): self = .offer(PeerOffer(offer, availableBytes: room))
    case .progress(let progress): self = .progress(PeerProgress(progress))
    case .interrupted(let reason): self = .interrupted(reason: VisibleText.message(reason))
    case .resumed(let heldBytes): self = .resumed(heldBytes: heldBytes)
    case .staged: self = .staged
    case .importing: self = .importing
    case .notice(let text): self = .notice(VisibleText.message(text))
    case .unsent(let item): self = .unsent(PeerPath(bytes: item.path), reason: item.clause)
    case .notStored(let path, let reason, let message):
      let item = UnsentList.NotStored(path: path, reason: reason, message: message)
      self = .notStored(PeerPath(bytes: path), reason: item.clause)
    case .renamed(let path, let target): self = .renamed(PeerPath(bytes: path), as: PeerPath(bytes: target))
    case .done(let result): self = .done(PeerResult(result, isComplete: isComplete))
    case .failed(let failure): self = .failed(PeerError(failure))
    case .confined, .unconfined, .extensionOutput: return nil
    }
  }
}
