package import MigrationWire

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
    /// Whether the ledger lists all names at the destination, which the sender then leaves out.
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
