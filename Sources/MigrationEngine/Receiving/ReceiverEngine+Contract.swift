package import MigrationWire

extension ReceiverEngine {
  /// An event at the receiver. The loop gives events to the engine one at a time, in their order of
  /// occurrence.
  package enum Event: EngineEvent {
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

    package static func closed(_ connection: ConnectionID, spread: Double) -> Event { .closed(connection) }
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

  /// How a data stream ended.
  package enum StreamEnd: Equatable, Sendable {
    /// By END, because it was told to end, or because its connection was cut: another stream may
    /// replace it.
    case over
    /// The sender cannot repair it.
    case failed(Fault)
  }
}

extension ReceiverEngine {
  /// An action of the receiver. The loop performs actions in their order. An action that blocks
  /// runs in a worker, which ends in exactly one event, even if its thread cannot be created. Times
  /// are seconds on the loop's clock.
  package enum Action: Sendable {
    // MARK: The run

    /// A worker recovers the transfers of earlier runs. Leads to `tookBack`.
    case takeBack
    /// A worker opens the listening socket. Leads to `listening`.
    case listen
    /// From now on, the loop announces this device on its networks, at the port where it listens.
    /// No event reports the outcome.
    case announce
    /// The loop ends the announcement.
    case withdrawAnnouncement
    /// The user of this device is told about an event.
    case tell(TransferEvent)
    /// The user is told the progress of a transfer: the loop reads the staged amount from its
    /// counters, and `total` is the announced amount.
    case tellProgress(TransferID, TransferPhase, total: ExpectedTotal, fraction: Double?)
    /// The run has ended. Remaining work ends with the process, or releases its locks when it ends.
    case finish(Result<TransferResult, TransferFailure>)

    // MARK: The door

    /// Closes a connection in the lobby, or one that rests between two actions, without sending
    /// anything. No event follows.
    case drop(ConnectionID)
    /// Accepts no connection until a moment, because no descriptors are left.
    case pauseAccepting(until: Double)
    /// A worker does the TLS handshake and reads HELLO, each until a moment. Leads to `secured` and
    /// then `asked`, or to `departed`.
    case greet(ConnectionID, tlsUntil: Double, helloUntil: Double)
    /// A worker reads PAIR_A, and computes nothing. Leads to `shared` or `departed`.
    case awaitShare(ConnectionID, until: Double)
    /// A worker does the exchange of Protocol §4.4 after PAIR_A, up to CONF_A, with the newest
    /// code. Leads to `proved` or `departed`.
    case exchange(ConnectionID, until: Double)
    /// A worker sends CONF_B and exchanges READY. Leads to `ready` or `departed`.
    case confirm(ConnectionID, until: Double)
    /// A worker sends HELLO_S and exchanges READY, and for the mode *join* reads JOIN. Leads to
    /// `ready`, `joining` or `departed`.
    case welcome(ConnectionID, ConnectionMode, until: Double)
    /// A worker sends ABORT and closes the connection. Leads to `departed`.
    case turnAway(ConnectionID, AbortReason)
    /// A worker sends CLOSE to a connection that wanted to join, with the reason why it cannot, and
    /// closes it. The session continues. Leads to `departed`.
    case refuseStream(ConnectionID, Close)
    /// The worker of a connection is to end soon, with ABORT 4 if the connection makes room for
    /// another. Its event follows.
    case dismiss(ConnectionID, makesRoom: Bool)

    // MARK: Codes and questions

    /// A worker makes a code, or takes the given one, and computes its secret, which replaces the
    /// previous one. Leads to `codeMade`.
    case makeCode
    /// The code has ended: its secret is erased.
    case forgetCode
    /// A worker asks the user. Leads to `answered`. Only one question is open at a time.
    case ask(Question)
    /// The question is to end soon. Its event follows.
    case withdrawQuestion

    // MARK: Control connections

    /// From now on, the loop reads and writes a connection that has reached READY.
    case converse(ConnectionID)
    case say(ConnectionID, ControlMessage)
    /// Sends everything that is queued and close_notify, and waits for the other end's
    /// close_notify, until a moment. Leads to `closed`.
    case close(ConnectionID, until: Double)
    /// The other end of a connection that is being closed has less time. `closed` still follows.
    case hurryClosing(ConnectionID, until: Double)

    // MARK: Workers of a session

    /// A worker judges names, room and fitness, and writes nothing. Leads to `examined`.
    case examine(SessionNumber, TransferID, Offer, held: Tally)
    /// A worker records the transfer, makes the staging directory if there is none, and looks for
    /// items that exist at the destination. Leads to `staged`.
    case stage(SessionNumber, StagingOrder)
    /// A worker reads the next part of the ledger. Leads to `ledger`.
    case readLedger(SessionNumber)
    /// A worker records the items that the source no longer has. Leads to `dropped`.
    case dropItems(SessionNumber, [Mark])
    /// A worker reads DATA, writes it and acknowledges it. Leads to `streamEnded`.
    case serve(ConnectionID, SessionNumber, Join)
    /// The worker of a stream is to end after the frame that it is writing. Its event follows.
    case endStream(ConnectionID)
    /// A worker makes the written data durable, again and again. Leads to `syncEnded`.
    case sync(SessionNumber)
    /// The worker of `sync` is to end soon. Its event follows.
    case endSync(SessionNumber)
    /// The loop looks when the last data of a session came. Leads to `lookedForData`.
    case lookForData(SessionNumber)
    /// The session's sender has sent everything: from this step on nothing more is written. Leads
    /// to `gateShut`.
    case shutGate(SessionNumber)
    /// From now on nothing of a session is written, except the frames that are being written.
    case closeGate(SessionNumber)

    // MARK: Workers of a transfer

    /// A worker imports the items. With `finish`, it first compares the received data with FINISH
    /// and makes it durable. `withheld` names the items that the sender has left out because the
    /// destination cannot hold them. Leads to `imported`.
    case importItems(TransferID, finish: (SessionNumber, Finish)?, withheld: [Refusal])
    /// The user stops the run: an import that can be undone is broken off. Its event follows.
    case interruptImport(TransferID)
    /// A worker records the progress of a transfer, for the list of unfinished transfers. Leads to
    /// `noted`.
    case note(TransferID)
    /// A worker forgets a transfer: its sender knows that everything is done. Leads to `noted`.
    case forget(TransferID)
    /// A worker discards an empty transfer with its staging directory. Leads to `noted`.
    case discard(TransferID)
    /// A worker releases everything that this process holds of a transfer, including its lock; the
    /// data on the disk stays. Leads to `noted`.
    case release(TransferID)
    /// A worker takes back a transfer that `release` has released. Leads to `retook`.
    case retake(TransferID)
  }

  /// A question for the user of this device. Texts from the other device are unescaped; the program
  /// that shows them escapes them.
  package enum Question: Equatable, Sendable {
    /// Whether to show codes again.
    case restart
    /// Whether to accept a new transfer.
    case consent(Offer, label: String, address: String, room: Examination)
  }

  /// The parameters that a session needs once its offer is accepted.
  package struct StagingOrder: Sendable {
    package let transfer: TransferID
    package let client: KeyFingerprint
    package let offer: Offer
    /// The other device's label and address.
    package let label: String
    package let address: String
    /// The features that the session may use.
    package let features: Features
  }
}

/// The addresses of a receiver: host texts without a port, most useful first.
package struct Listening: Equatable, Sendable {
  /// All addresses.
  package let addresses: [String]
  /// The addresses that are worth showing to a person.
  package let shown: [String]
  package let port: UInt16
  /// The ranges of addresses that may pair, for people; empty where every sender may.
  package let from: [String]
  /// Whether senders in the same network find this device without an address.
  package let isAnnounced: Bool

  /// `shown` (default: all addresses) are the addresses for people.
  package init(
    addresses: [String], shown: [String]? = nil, port: UInt16, from: [String] = [], isAnnounced: Bool = false
  ) {
    self.addresses = addresses
    self.shown = shown ?? addresses
    self.port = port
    self.from = from
    self.isAnnounced = isAnnounced
  }
}
