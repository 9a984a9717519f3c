package import MigrationWire

extension ReceiverEngine {
  /// What happens to a receiver. The loop gives events to the engine one at a time, in the order in which they came.
  package enum Event: Sendable {
    // MARK: The run

    /// The first event.
    case begin
    /// The worker of `takeBack` has ended.
    case tookBack(Result<[KnownTransfer], Fault>)
    /// The worker of `listen` has ended. From now on connections may arrive.
    case listening(Result<Listening, Fault>)
    /// The user ends the run, by a signal.
    case stop(TransferFailure.Kind)
    /// A moment that `nextMoment` named has come, or any other.
    case timePassed
    /// News of any worker: the user of this device is to hear of this. The worker of `importItems` tells `staged` and `importing`
    /// so.
    case noticed(TransferEvent)

    // MARK: The door (Protocol §4, §11)

    /// A connection was accepted; it costs a descriptor, and nothing else yet. `chance` is random.
    case arrived(ConnectionID, Remote, chance: UInt64)
    /// The whole first TLS record of a connection in the lobby is there.
    case spoke(ConnectionID)
    /// A connection in the lobby has ended, or is no TLS; or the worker of `greet`, `exchange`, `confirm`, `welcome` or `turnAway`
    /// has ended without more. The connection is closed.
    case departed(ConnectionID)
    /// No connection can be accepted for want of descriptors.
    case outOfDescriptors(chance: UInt64)
    /// News of the worker of `greet`, which goes on: TLS is up, and this is the other end's key.
    case secured(ConnectionID, KeyFingerprint?)
    /// The worker of `greet` has ended: HELLO has come.
    case asked(ConnectionID, ConnectionMode)
    /// The worker of `awaitShare` has ended: PAIR_A has come.
    case shared(ConnectionID)
    /// The worker of `exchange` has ended: CONF_A has come. Whether it is right must not be looked at before a try is spent.
    case proved(ConnectionID, isRight: Bool)
    /// The worker of `confirm`, or of `welcome` for the mode *resume*, has ended: READY was said and heard. `identifier` is a
    /// fresh random one, for a transfer that begins.
    case ready(ConnectionID, identifier: TransferID)
    /// The worker of `welcome` for the mode *join* has ended: READY, and JOIN behind it.
    case joining(ConnectionID, Join)

    // MARK: Codes and questions

    /// The worker of `makeCode` has ended.
    case codeMade(Result<PairingCode, Fault>)
    /// The question that was asked is over: what the user says, or nothing where it was withdrawn or none can be had.
    case answered(Bool?)

    // MARK: Control connections, which the loop reads and writes from `converse` to `closed`

    case received(ConnectionID, ControlMessage)
    /// The connection is cut, or silent, or its other end has broken the protocol. Nothing more comes of it but `closed`.
    case broke(ConnectionID, Fault)
    /// What was said on it is gone, but for little: there is room for the next part of a ledger.
    case drained(ConnectionID)
    /// What `close` began is done.
    case closed(ConnectionID)

    // MARK: Workers of a session; those of an older one end with its number

    /// The worker of `examine` has ended.
    case examined(SessionNumber, Result<Examination, Fault>)
    /// The worker of `stage` has ended.
    case staged(SessionNumber, Result<Admitted, Fault>)
    /// The worker of `readLedger` has ended: the next part of what there is.
    case ledger(SessionNumber, Result<LedgerPart, Fault>)
    /// The worker of `dropItems` has ended.
    case dropped(SessionNumber, Fault?)
    /// The worker of `serve` has ended, and nothing more of its stream is written. What is staged by then.
    case streamEnded(ConnectionID, StreamEnd, held: Tally)
    /// What `shutGate` came to: a violation where something was being written, which cannot have been acknowledged.
    case gateShut(SessionNumber, Fault?)
    /// The worker of `sync` has ended.
    case syncEnded(SessionNumber, Fault?)

    // MARK: Workers of a transfer

    /// News: the destination cannot hold these items.
    case refused(TransferID, [Refusal])
    /// News: how far the import is.
    case importing(TransferID, ImportProgress)
    /// The worker of `importItems` has ended. All refusals were told before; these are the named ones of what FINISH covered. So
    /// many items were left at the import, since something else had their names.
    case imported(TransferID, Result<Done, Fault>, Traffic, differing: UInt64, refused: [Refusal])
    /// The worker of `note`, `forget`, `discard` or `release` has ended.
    case noted(TransferID)
    /// The worker of `retake` has ended: what is there of a transfer; nothing where it was given up by another process.
    case retook(TransferID, Result<KnownTransfer?, Fault>)
  }

  /// A transfer that an earlier run left at this destination.
  package struct KnownTransfer: Sendable {
    package let identifier: TransferID
    /// The sender's key: the pin.
    package let client: KeyFingerprint
    /// The sender's last address without the port, where it is known.
    package let host: String?
    /// The roots of the first offer.
    package let contents: Offer.Contents?
    /// What is staged.
    package let held: Tally
    /// Whether its staging directory is there; else the user is asked again, and it is made again.
    package let isStaged: Bool
    package let unsent: UInt64
    package let withheld: UInt64
    /// What cannot be stored, by name.
    package let refusals: [Refusal]
    /// What the sender had left out by name, since the destination cannot hold it; of a transfer that is done everything that is
    /// named as not stored.
    package let notStored: [Refusal]
    /// Whether this process has it; else no more is known than is remembered, and more may be staged.
    package let isHeld: Bool
    package let standing: Standing

    package enum Standing: Sendable {
      case receiving
      /// Everything had arrived: the import goes on.
      case concluded(Tally)
      /// Everything is imported; the sender may not have heard of it.
      case done(Done)
    }

    package init(
      identifier: TransferID, client: KeyFingerprint, host: String? = nil, contents: Offer.Contents?, held: Tally,
      isStaged: Bool = true, unsent: UInt64 = 0, withheld: UInt64 = 0, refusals: [Refusal] = [],
      notStored: [Refusal] = [], isHeld: Bool = true, standing: Standing = .receiving
    ) {
      self.isStaged = isStaged
      self.notStored = notStored
      self.isHeld = isHeld
      self.identifier = identifier
      self.client = client
      self.host = host
      self.contents = contents
      self.held = held
      self.unsent = unsent
      self.withheld = withheld
      self.refusals = refusals
      self.standing = standing
    }
  }

  /// That an offer can be taken.
  package struct Examination: Equatable, Sendable {
    /// How much room there is, for people.
    package let availableBytes: UInt64?

    /// How much is taken of a transfer that may become more than was announced; nil for any other.
    package let mostBytes: UInt64?

    package init(availableBytes: UInt64?, mostBytes: UInt64? = nil) {
      self.availableBytes = availableBytes
      self.mostBytes = mostBytes
    }
  }

  /// What a session that is taken begins with.
  package struct Admitted: Sendable {
    package let session: SessionID
    package let keys: TransferKeys
    /// What the destination can hold.
    package let traits: DestinationTraits
    package let held: Tally

    package init(session: SessionID, keys: TransferKeys, traits: DestinationTraits, held: Tally) {
      self.session = session
      self.keys = keys
      self.traits = traits
      self.held = held
    }
  }

  /// A part of a ledger, of at most a quarter of a megabyte, in the order of Protocol §6.4.
  package struct LedgerPart: Sendable {
    package let pages: [Held]
    package let partials: [Partial]
    /// What all of the ledger comes to, with its last part.
    package let end: Tally?

    package init(pages: [Held], partials: [Partial], end: Tally?) {
      self.pages = pages
      self.partials = partials
      self.end = end
    }
  }

  /// How a data stream ended.
  package enum StreamEnd: Equatable, Sendable {
    /// By END, or since it was told to end, or since its connection was cut: another one may take its place.
    case over
    /// The sender cannot mend it.
    case failed(Fault)
  }
}
