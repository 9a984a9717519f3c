package import MigrationWire

/// An event for the person or the program that started the engine.
///
/// Texts and names from the other device are unescaped in events; the program that shows them
/// escapes them.
package enum TransferEvent: Sendable {
  /// Senders can reach the receiver.
  case listening(Listening)
  /// Senders can find this device on its networks under a name: its label, changed where another
  /// device has that label.
  case announced(name: String)
  /// Senders cannot find this device on its networks, and why: a lower-case clause.
  case unannounced(reason: String)
  /// From now on, this process can create and change files only in these directories.
  case confined(directories: [[UInt8]])
  /// This process can write wherever its user can, and why: a lower-case clause. The directories
  /// are those that a confinement would have closed to it, if there are any.
  case unconfined(reason: String, directories: [[UInt8]])
  /// A code to show, and for how many seconds it is valid; and this device's place at a relay, which
  /// is shown in front of it.
  case code(PairingCode, lifetime: Double, place: RelayPlace? = nil)
  /// The code that was given to this device may be entered now, for so many seconds. It is not
  /// shown.
  case codeAwaited(lifetime: Double)
  /// A wrong code was entered; `left` is the number of codes that are still judged before no code
  /// is shown any more.
  case wrongCode(attempt: Int, allowed: Int, from: String, left: Int)
  /// After so many wrong codes, no code is shown any more; `from` lists the addresses that entered
  /// them, most first. This ends the run, or the user can begin another wait.
  case codesSpent(count: Int, from: [GuessLimit.Count], isOver: Bool)
  /// The sender looks for receivers in this network.
  case looking
  /// The only receiver that was found, with the label that it states.
  case found(label: String, address: String)
  /// The sender connects.
  case connecting(address: String)
  /// The sender waits in the receiver's line, in which so many others come first, the served one
  /// among them; 0 where the receiver does not say.
  case queued(place: UInt16)
  /// The next events are about this transfer, until it ends or another transfer begins.
  case transfer(TransferID)
  /// The devices have paired, or know each other from a kept pairing; the other device's label and
  /// address.
  case paired(label: String, address: String, isKnown: Bool = false)
  /// The session leads through a relay, which passes on so many bytes at most.
  case relayed(through: String, bytes: UInt64)
  /// From now on, the data of a relayed session takes this connection.
  case dataConnection(DataConnection)
  /// The offered transfer, how much room the destination has (nil at the sender), and the only part of the plan.
  case offer(Offer, availableBytes: UInt64?, of: Part? = nil)
  /// The parts of a plan of several, instead of an offer.
  case plan([Part], availableBytes: UInt64?)
  case progress(TransferProgress)
  /// The connection is lost; the transfer resumes by itself when it can.
  case interrupted(reason: String)
  case resumed(heldBytes: UInt64)
  /// Everything has arrived and is verified.
  case staged
  case importing
  /// News that ends nothing; a lower-case clause.
  case notice(String)
  /// An item that is not at the destination, and what this device knows besides the reason, safe to
  /// show.
  case notStored(NotStored, note: String? = nil)
  /// An item was stored under another name, because its own was taken: its path in the archive, and
  /// its path at the destination.
  case renamed(path: [UInt8], target: [UInt8])
  /// An app's extension wrote a line to standard error or output.
  case extensionOutput(isError: Bool, line: [UInt8])
  case done(TransferResult)
  /// One of several parts has ended, or a root of a part is left out; the others continue.
  case partEnded(PartEnd)
  /// A transfer has failed, and the run continues: only a receiver that stays reports this.
  case failed(Failure)
  /// An event about one of several transfers at a time.
  indirect case of(TransferID, TransferEvent)
}

extension TransferEvent {
  /// The event without the transfer that it is about.
  package var plain: TransferEvent { if case .of(_, let event) = self { event.plain } else { self } }

  /// The event with the paths of this device: `place` is where an item of the archive, or a root, is
  /// here.
  package func placed(_ place: ([UInt8]) -> [UInt8]) -> TransferEvent {
    switch self {
    case .of(let transfer, let event): .of(transfer, event.placed(place))
    case .notStored(let item, let note): .notStored(item.named(place(item.path)), note: note)
    case .renamed(let path, let target): .renamed(path: place(path), target: target)
    case .partEnded(let end): .partEnded(end.placed(place))
    default: self
    }
  }

  /// Whether it shows that the devices have reached each other.
  package var isFromOther: Bool {
    switch self {
    case .found, .queued, .paired, .wrongCode, .offer, .progress, .resumed, .interrupted, .done, .failed: true
    default: false
    }
  }

  /// The connection of the data in a session whose control connection leads through a relay.
  package enum DataConnection: Equatable, Sendable {
    /// From device to device.
    case direct(isIPv6: Bool)
    /// Through the relay again.
    case relay(String)
  }
}

extension RenamedItem {
  /// The event for the user.
  package var event: TransferEvent { .renamed(path: path.bytes, target: target.bytes) }
}
