package import MigrationWire

extension ReceiverEngine {
  /// What a receiver does. The loop performs actions in their order; one that blocks is a worker's, which ends in exactly one
  /// event, also where its thread cannot be made. Times are seconds on the loop's clock.
  package enum Action: Sendable {
    // MARK: The run

    /// A worker: recovers what earlier runs left. Leads to `tookBack`.
    case takeBack
    /// A worker: opens the listening socket. Leads to `listening`.
    case listen
    /// This device is to be found on its networks from now on, at the port where it listens. What becomes of that is no event.
    case announce
    /// It is not to be found any more.
    case withdrawAnnouncement
    /// The user of this device hears of something.
    case tell(TransferEvent)
    /// The same, of how far a transfer is: what is staged is read from its counters, and `total` is what was announced.
    case tellProgress(TransferID, TransferPhase, total: ExpectedTotal, fraction: Double?)
    /// The run is over; what still goes on ends with the process, or lets go of its locks when it ends.
    case finish(Result<TransferResult, TransferFailure>)

    // MARK: The door

    /// Closes a connection of the lobby, or one that rests between two actions, without a word. No event follows.
    case drop(ConnectionID)
    /// No connection is accepted until a moment, for want of descriptors.
    case pauseAccepting(until: Double)
    /// A worker: TLS and HELLO, each until a moment. Leads to `secured` and then `asked`, or to `departed`.
    case greet(ConnectionID, tlsUntil: Double, helloUntil: Double)
    /// A worker: takes PAIR_A, and computes nothing. Leads to `shared` or `departed`.
    case awaitShare(ConnectionID, until: Double)
    /// A worker: the exchange of Protocol §4.4 behind PAIR_A, to CONF_A, about the code that was made last. Leads to `proved` or `departed`.
    case exchange(ConnectionID, until: Double)
    /// A worker: CONF_B and READY. Leads to `ready` or `departed`.
    case confirm(ConnectionID, until: Double)
    /// A worker: HELLO_S and READY, and JOIN for the mode *join*. Leads to `ready`, `joining` or `departed`.
    case welcome(ConnectionID, ConnectionMode, until: Double)
    /// A worker: ABORT, and the connection's end. Leads to `departed`.
    case turnAway(ConnectionID, AbortReason)
    /// The worker of a connection is to end soon, with ABORT 4 if the connection makes room for another. Its event follows.
    case dismiss(ConnectionID, makesRoom: Bool)

    // MARK: Codes and questions

    /// A worker: makes a code, or takes the given one, and its secret, which replaces the one before. Leads to `codeMade`.
    case makeCode
    /// The code is over: its secret goes.
    case forgetCode
    /// A worker: asks the user. Leads to `answered`. One question is asked at a time.
    case ask(Question)
    /// The question is to end soon. Its event follows.
    case withdrawQuestion

    // MARK: Control connections

    /// The loop reads and writes a connection at READY from now on.
    case converse(ConnectionID)
    case say(ConnectionID, ControlMessage)
    /// Says what was said, close_notify, and waits for the other end's, until a moment. Leads to `closed`.
    case close(ConnectionID, until: Double)

    // MARK: Workers of a session

    /// A worker: judges names, room and fitness, and writes nothing. Leads to `examined`.
    case examine(SessionNumber, TransferID, Offer, held: Tally)
    /// A worker: remembers the transfer, makes the staging directory where there is none, and looks what is at the destination
    /// already. Leads to `staged`.
    case stage(SessionNumber, StagingOrder)
    /// A worker: the next part of what there is. Leads to `ledger`.
    case readLedger(SessionNumber)
    /// A worker: notes what the source no longer has. Leads to `dropped`.
    case dropItems(SessionNumber, [Mark])
    /// A worker: takes DATA, writes it and acknowledges it. Leads to `streamEnded`.
    case serve(ConnectionID, SessionNumber, Join)
    /// The worker of a stream is to end, after the frame that it writes. Its event follows.
    case endStream(ConnectionID)
    /// A worker: makes durable what is written, again and again. Leads to `syncEnded`.
    case sync(SessionNumber)
    /// The worker of `sync` is to end soon. Its event follows.
    case endSync(SessionNumber)
    /// The session's sender has said everything: from this step on nothing more is written. Leads to `gateShut`.
    case shutGate(SessionNumber)
    /// Nothing of a session is written from now on, but what is being written.
    case closeGate(SessionNumber)

    // MARK: Workers of a transfer

    /// A worker: with `finish`, first compares what arrived with it and makes it durable; then imports.
    /// `withheld` is what the sender has left out by name, since the destination cannot hold it. Leads to `imported`.
    case importItems(TransferID, finish: (SessionNumber, Finish)?, withheld: [Refusal])
    /// The user wants the end: an import that can be undone is broken off. Its event follows.
    case interruptImport(TransferID)
    /// A worker: notes how far a transfer is, for those who list what is unfinished. Leads to `noted`.
    case note(TransferID)
    /// A worker: the sender knows that all is done. Leads to `noted`.
    case forget(TransferID)
    /// A worker: gives up an empty transfer, with its staging directory. Leads to `noted`.
    case discard(TransferID)
    /// A worker: lets go of everything that this process holds of a transfer, its lock among it; what the disk has stays. Leads to
    /// `noted`.
    case release(TransferID)
    /// A worker: takes back what `release` has let go. Leads to `retook`.
    case retake(TransferID)
  }

  /// What the user of this device is asked. Texts from the other device are exact; who shows them escapes them.
  package enum Question: Equatable, Sendable {
    /// Whether codes are to be shown again.
    case restart
    /// Whether a new transfer is wanted.
    case consent(Offer, label: String, address: String, room: Examination)
  }

  /// What a session of a taken offer needs.
  package struct StagingOrder: Sendable {
    package let transfer: TransferID
    package let client: KeyFingerprint
    package let offer: Offer
    /// What the other device calls itself, and where it is.
    package let label: String
    package let address: String
    /// What the session may use.
    package let features: Features
    /// Whether the ledger tells all names at the destination, which the sender leaves out.
    package let tellsTaken: Bool

    package init(
      transfer: TransferID, client: KeyFingerprint, offer: Offer, label: String, address: String, features: Features,
      tellsTaken: Bool = false
    ) {
      self.transfer = transfer
      self.client = client
      self.offer = offer
      self.label = label
      self.address = address
      self.features = features
      self.tellsTaken = tellsTaken
    }
  }
}
