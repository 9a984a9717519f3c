import MigrationEngine
import MigrationWire

/// An event in the course of a transfer.
///
/// New versions add cases: a `switch` over them needs a `default`. Names come from the other
/// device. The descriptions of a ``PeerPath`` and a ``PeerDevice`` are safe to show, and so is
/// every other text.
public enum PeerEvent: Equatable, Sendable {
  /// The receiver listens on this port, at these addresses, the most useful first.
  case listening(addresses: [String], port: UInt16)
  /// The receiver is announced on its networks under this name.
  case announced(name: String)
  /// The receiver cannot be announced on its networks, with the reason.
  case unannounced(reason: String)
  /// A code for the person to type on the other device, and its lifetime.
  case code(PeerCode, lifetime: Duration)
  /// The code that the receiver was given is valid from now on, for this lifetime.
  case codeAwaited(lifetime: Duration)
  /// A wrong code was entered: the number of this try, and of all tries for the shown code.
  case wrongCode(attempt: Int, of: Int, from: String)
  /// The receiver accepts no more codes after this many wrong ones; it ends with
  /// ``PeerError/Kind/pairing``.
  case codesSpent(count: Int)
  /// The sender searches its networks for receivers.
  case looking
  /// The sender has found a single receiver.
  case found(PeerDevice)
  /// The sender connects to an address.
  case connecting(address: String)
  /// The sender waits while the receiver serves this many others first; nil if that is unknown.
  case queued(place: Int?)
  /// The devices have authenticated each other.
  case paired(PeerDevice)
  /// The contents of the transfer.
  case offer(PeerOffer)
  case progress(PeerProgress)
  /// The connection is lost; the transfer resumes when it returns.
  case interrupted(reason: String)
  /// The transfer resumes; this many bytes have already arrived.
  case resumed(heldBytes: UInt64)
  /// All data has arrived and matches the sender's.
  case staged
  /// The receiver puts the data in place.
  case importing
  /// A fact worth knowing that ends nothing.
  case notice(String)
  /// An item is not at the destination: by whose decision, and why.
  case notStored(PeerPath, by: PeerParty, reason: String)
  /// An item was saved under another name, since its own was taken.
  case renamed(PeerPath, as: PeerPath)
  /// A part of the transfer was not taken, or has failed; the other parts continue.
  case partFailed(name: String, PeerError)
  /// The transfer is done.
  case done(PeerResult)
  /// The transfer, or the wait for one, has failed.
  case failed(PeerError)
}

/// The party that decides that an item does not arrive.
public enum PeerParty: Sendable {
  /// The sender's device, which could not send it.
  case sender
  /// The receiver's device, which cannot hold it.
  case receiver
  /// The receiver's user.
  case user

  init(_ party: NotStored.Party) {
    self =
      switch party {
      case .sender: .sender
      case .receiver: .receiver
      case .user: .user
      }
  }
}

extension PeerEvent {
  /// An event of the engine as a case of this interface; nil for an event of the command alone.
  /// `isComplete` concerns the end of a transfer.
  init?(_ event: TransferEvent, isComplete: Bool) {
    switch event {
    case .listening(let listening): self = .listening(addresses: listening.addresses, port: listening.port)
    case .announced(let name): self = .announced(name: VisibleText.of(name))
    case .unannounced(let reason): self = .unannounced(reason: VisibleText.message(reason))
    case .transfer: return nil
    case .code(let code, let lifetime, _): self = .code(PeerCode(code), lifetime: .seconds(lifetime))
    case .codeAwaited(let lifetime): self = .codeAwaited(lifetime: .seconds(lifetime))
    case .wrongCode(let attempt, let allowed, let address, _):
      self = .wrongCode(attempt: attempt, of: allowed, from: VisibleText.of(address))
    case .codesSpent(let count, _, _): self = .codesSpent(count: count)
    case .looking: self = .looking
    case .found(let label, let address): self = .found(PeerDevice(name: label, host: address))
    case .connecting(let address): self = .connecting(address: VisibleText.of(address))
    case .queued(let place): self = .queued(place: place > 0 ? Int(place) : nil)
    case .paired(let label, let address, _): self = .paired(PeerDevice(name: label, host: address))
    case .offer(let offer, let room, _): self = .offer(PeerOffer(offer, availableBytes: room))
    case .progress(let progress): self = .progress(PeerProgress(progress))
    case .interrupted(let reason): self = .interrupted(reason: VisibleText.message(reason))
    case .resumed(let heldBytes): self = .resumed(heldBytes: heldBytes)
    case .staged: self = .staged
    case .importing: self = .importing
    case .notice(let text): self = .notice(VisibleText.message(text))
    case .notStored(let item, let note):
      self = .notStored(PeerPath(bytes: item.path), by: PeerParty(item.reason.party), reason: item.clause(note))
    case .renamed(let path, let target): self = .renamed(PeerPath(bytes: path), as: PeerPath(bytes: target))
    case .done(let result): self = .done(PeerResult(result, isComplete: isComplete))
    case .partEnded(let end):
      guard case .failure(let failure) = end.result else { return nil }
      let name = end.root.map { VisibleText.listed($0) } ?? VisibleText.of(end.name)
      self = .partFailed(name: name, PeerError(failure))
    case .failed(let failure): self = .failed(PeerError(failure))
    // The other events are the command's alone.
    default: return nil
    }
  }
}

/// The events of a transfer, from the first to the last.
///
/// The transfer does not depend on a reader: of the unread events, the newest 65,536 stay. The sequence
/// is for one reader; several readers each get a part. It ends with its transfer, with an object that is
/// released without a run, and when the task that reads it is cancelled; the transfer then continues.
public struct PeerEvents: AsyncSequence, Sendable {
  let events: AsyncStream<PeerEvent>

  public func makeAsyncIterator() -> AsyncStream<PeerEvent>.Iterator { events.makeAsyncIterator() }
}
