package import MigrationWire

extension ReceiverEngine {
  /// An event at the receiver. The loop gives events to the engine one at a time, in their order of
  /// occurrence.
  package enum Event: Sendable {
    // MARK: The run

    /// The first event.
    case begin
    /// The worker of `takeBack` has ended.
    case tookBack(Result<[KnownTransfer], Fault>)
    /// The worker of `listen` has ended. From now on connections may arrive.
    case listening(Result<Listening, Fault>)
    /// The user stops the run with a signal.
    case stop(TransferFailure.Kind)
    /// A moment has come: one that `nextMoment` named, or any other.
    case timePassed
    /// News from any worker: an event that the user of this device is to be told. The worker of
    /// `importItems` reports `staged` and `importing` this way.
    case noticed(TransferEvent)

    // MARK: The door (Protocol §4, §11)

    /// The loop has accepted a connection, which so far costs only a descriptor. `chance` is
    /// random.
    case arrived(ConnectionID, Remote, chance: UInt64)
    /// The first TLS record of a connection in the lobby is complete.
    case spoke(ConnectionID)
    /// A connection in the lobby has ended, or does not speak TLS; or the worker of `greet`,
    /// `exchange`, `confirm`, `welcome` or `turnAway` has ended without a result. The connection is
    /// closed.
    case departed(ConnectionID)
    /// The loop cannot accept a connection, because no descriptors are left.
    case outOfDescriptors(chance: UInt64)
    /// News from the worker of `greet`, which continues: TLS is established, and the other end has
    /// shown this key.
    case secured(ConnectionID, KeyFingerprint?)
    /// The worker of `greet` has ended: HELLO has arrived.
    case asked(ConnectionID, ConnectionMode)
    /// The worker of `awaitShare` has ended: PAIR_A has arrived.
    case shared(ConnectionID)
    /// The worker of `exchange` has ended: CONF_A has arrived. The engine must not look at
    /// `isRight` before it has spent a try.
    case proved(ConnectionID, isRight: Bool)
    /// The worker of `confirm`, or of `welcome` for the mode *resume*, has ended: both ends have
    /// sent READY. `identifier` is a fresh random one, for a transfer that begins.
    case ready(ConnectionID, identifier: TransferID)
    /// The worker of `welcome` for the mode *join* has ended: READY is exchanged, and JOIN has
    /// arrived after it.
    case joining(ConnectionID, Join)

    // MARK: Codes and questions

    /// The worker of `makeCode` has ended.
    case codeMade(Result<PairingCode, Fault>)
    /// The question has ended: the user's answer, or nil where the question was withdrawn or no
    /// answer can be had.
    case answered(Bool?)

    // MARK: Control connections, which the loop reads and writes from `converse` to `closed`

    case received(ConnectionID, ControlMessage)
    /// The connection was cut or is silent, or its other end has violated the protocol. Only
    /// `closed` follows for it.
    case broke(ConnectionID, Fault)
    /// Almost everything queued on the connection is sent: there is room for the next part of a
    /// ledger.
    case drained(ConnectionID)
    /// The connection is closed, as `close` asked.
    case closed(ConnectionID)

    // MARK: Workers of a session; those of an older one end with its number

    /// The worker of `examine` has ended.
    case examined(SessionNumber, Result<Examination, Fault>)
    /// The worker of `stage` has ended.
    case staged(SessionNumber, Result<Admitted, Fault>)
    /// The worker of `readLedger` has ended: the next part of the ledger.
    case ledger(SessionNumber, Result<LedgerPart, Fault>)
    /// The worker of `dropItems` has ended.
    case dropped(SessionNumber, Fault?)
    /// The worker of `serve` has ended, and nothing more of its stream is written. `held` is the
    /// amount staged by then.
    case streamEnded(ConnectionID, StreamEnd, held: Tally)
    /// The result of `lookForData`: when the last frame of data was written, or the session was
    /// accepted; nil while a frame is being written.
    case lookedForData(SessionNumber, lastAt: Double?)
    /// The result of `shutGate`: a violation where a frame was still being written, which cannot
    /// have been acknowledged.
    case gateShut(SessionNumber, Fault?)
    /// The worker of `sync` has ended.
    case syncEnded(SessionNumber, Fault?)

    // MARK: Workers of a transfer

    /// News: the destination cannot hold these items.
    case refused(TransferID, [Refusal])
    /// News: the progress of the import.
    case importing(TransferID, ImportProgress)
    /// The worker of `importItems` has ended. It has reported all refusals before; `refused` are
    /// the named ones that FINISH covered.
    case imported(TransferID, Result<Done, Fault>, Traffic, refused: [Refusal])
    /// The worker of `note`, `forget`, `discard` or `release` has ended.
    case noted(TransferID)
    /// The worker of `retake` has ended: the state of a transfer; nil where another process has
    /// discarded it.
    case retook(TransferID, Result<KnownTransfer?, Fault>)
  }

  /// A transfer of an earlier run at this destination.
  package struct KnownTransfer: Sendable {
    package let identifier: TransferID
    /// The sender's key: the pin.
    package let client: KeyFingerprint
    /// The sender's last address without the port, where it is known.
    package let host: String?
    /// The roots of the first offer.
    package let contents: Offer.Contents?
    /// The amount of staged data.
    package let held: Tally
    /// Whether its staging directory exists; otherwise the user is asked again, and the directory
    /// is made again.
    package let isStaged: Bool
    package let unsent: UInt64
    /// When an earlier run last recorded something of it, in seconds since 1970: of a finished
    /// transfer, its end.
    package let lastSeen: Int64
    package let withheld: UInt64
    /// The named items that the destination cannot store.
    package let refusals: [Refusal]
    /// The named items that the sender had left out because the destination cannot hold them; of a
    /// finished transfer, every item named as not stored.
    package let notStored: [Refusal]
    /// Whether this process holds it; otherwise only the remembered facts are known, and more may
    /// be staged.
    package let isHeld: Bool
    package let standing: Standing

    package enum Standing: Sendable {
      case receiving
      /// Everything had arrived: the import continues.
      case concluded(Tally)
      /// Everything is imported; the sender may not have been told.
      case done(Done)
    }

    package init(
      identifier: TransferID, client: KeyFingerprint, host: String? = nil, contents: Offer.Contents?, held: Tally,
      isStaged: Bool = true, unsent: UInt64 = 0, lastSeen: Int64 = 0, withheld: UInt64 = 0,
      refusals: [Refusal] = [], notStored: [Refusal] = [], isHeld: Bool = true, standing: Standing = .receiving
    ) {
      self.lastSeen = lastSeen
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

  /// The result of an examination whose offer can be accepted.
  package struct Examination: Equatable, Sendable {
    /// How much room there is, for people.
    package let availableBytes: UInt64?

    /// The most bytes accepted of a transfer that may exceed its announced size; nil for any other.
    package let mostBytes: UInt64?

    package init(availableBytes: UInt64?, mostBytes: UInt64? = nil) {
      self.availableBytes = availableBytes
      self.mostBytes = mostBytes
    }
  }

  /// The facts with which an accepted session begins.
  package struct Admitted: Sendable {
    package let session: SessionID
    package let keys: TransferKeys
    /// The items that the destination can hold.
    package let traits: DestinationTraits
    package let held: Tally

    package init(session: SessionID, keys: TransferKeys, traits: DestinationTraits, held: Tally) {
      self.session = session
      self.keys = keys
      self.traits = traits
      self.held = held
    }
  }

  /// A part of a ledger, at most a quarter of a megabyte, in the order of Protocol §6.4.
  package struct LedgerPart: Sendable {
    package let pages: [Held]
    package let partials: [Partial]
    /// The totals of the whole ledger, in its last part.
    package let end: Tally?

    package init(pages: [Held], partials: [Partial], end: Tally?) {
      self.pages = pages
      self.partials = partials
      self.end = end
    }
  }

  /// How a data stream ended.
  package enum StreamEnd: Equatable, Sendable {
    /// By END, because it was told to end, or because its connection was cut: another stream may
    /// replace it.
    case over
    /// The sender cannot repair it.
    case failed(Fault)
  }
}
