package import MigrationWire

extension SenderEngine {
  /// An action of the sender. The loop performs actions in their order. An action that blocks runs
  /// in a worker, which ends in exactly one event, even if its thread cannot be created. Times are
  /// seconds on the loop's clock.
  package enum Action: Sendable {
    // MARK: The run

    /// A worker walks the source to find the items to send. Leads to `walked`.
    case walk
    /// A worker looks for transfers that an earlier run began. Leads to `lookedUp`.
    case lookUpUnfinished
    /// A worker asks the user for the code that the other device shows. Leads to `codeEntered`.
    case askCode(DeviceAddress)
    /// A worker asks the user which of several receivers to use. Leads to `chosen`.
    case choose([DeviceAddress])
    /// The workers of `walk`, `choose` and `askCode` are to end soon. Their events follow.
    case stopPreparing
    /// A worker computes the slow derivation of Protocol §4.4, before there is a connection. Leads
    /// to `derived`.
    case deriveSecret(PairingCode)
    /// The user of this device is told about an event.
    case tell(TransferEvent)
    /// The user is told the progress of the transfer: the loop reads the arrived amount from the
    /// window's counters.
    case tellProgress(SessionNumber, TransferPhase, total: ExpectedTotal, fraction: Double?)
    /// The run has ended; remaining work ends with the process. Nothing follows.
    case finish(Result<TransferResult, TransferFailure>)

    // MARK: Reaching the receiver

    /// A worker looks for a few seconds for receivers that wait in this network. Leads to `found`.
    case look
    /// A worker checks whether anything listens at one of a place's addresses, with a TCP
    /// connection that it closes at once. `dial` begins with the address that answers. Leads to
    /// `probed`.
    case probe(Place)
    /// A worker races a place's addresses, and does TCP, TLS, and everything before READY. Leads to
    /// `dialed`.
    case dial(Purpose, at: Place)
    /// The worker of `look`, `probe` or `dial` is to end soon. Its event follows.
    case stopDialing

    // MARK: The control connection

    /// From now on, the loop reads and writes a connection that has reached READY.
    case converse(ConnectionID)
    case say(ConnectionID, ControlMessage)
    /// Sends everything that is queued and close_notify, and waits for the other end's
    /// close_notify, until a moment. Leads to `closed`.
    case close(ConnectionID, until: Double)
    /// The other end of a connection that is being closed has less time. `closed` still follows.
    case hurryClosing(ConnectionID, until: Double)

    // MARK: Workers of a session

    /// A page of marks of held items, or an incomplete file: the export leaves them out.
    case keepHeld(SessionNumber, Held)
    case keepPartial(SessionNumber, Partial)
    /// A worker records the transfer before anything is sent, then packs everything that is not
    /// held into the session's window. Leads to `exported`.
    case export(SessionNumber, ExportOrder)
    /// A worker connects to the receiver's address, joins, and sends the frames that the window
    /// gives it. Leads to `streamEnded`.
    case openStream(SessionNumber, Join, attempts: Int)
    /// The heir of a lost stream takes over its unacknowledged frames.
    case moveFrames(SessionNumber, from: StreamNumber, to: StreamNumber)
    /// A stream gets no new frames, and ends when all its frames are written.
    case retire(SessionNumber, StreamNumber)
    /// A stream has ended for good.
    case forgetStream(SessionNumber, StreamNumber)
    /// The destination cannot hold an item.
    case refuse(SessionNumber, Mark)
    /// No more frames are submitted: streams end when all their frames are written.
    case finishWindow(SessionNumber)
    /// Every worker of the session is to end soon. Their events follow.
    case stopSession(SessionNumber)
    /// A worker records that everything is sent except so many items, for a later run that only
    /// reads DONE; the record is durable before FINISH is sent. Leads to `finishNoted`.
    case noteFinish(SessionNumber, TransferID, Finish)
    /// Leads at once to `window`. Used only in a session that has begun its export.
    case readWindow(SessionNumber)

    // MARK: Workers of a transfer

    /// A worker records that the receiver has sent DONE, and the items named as not stored; the
    /// record is durable before RECEIPT is sent. Leads to `recorded`.
    case recordDone(TransferID, Done, refusals: [Refusal])
    /// A worker records the progress of a session that has ended. Leads to `noted`.
    case note(TransferID, arrived: Tally, total: Tally, address: String)
    /// A worker forgets a transfer that is done, or that the other device no longer knows. Leads to
    /// `forgot`.
    case forget(TransferID)
  }

  /// The purpose of a dial.
  package enum Purpose: Equatable, Sendable {
    /// To pair with the derived secret and a fresh key.
    case pair
    /// To come back to a transfer, with its key. A receiver with a key other than the pinned one is
    /// a stranger. Nil names the transfer that was just paired and has no name yet.
    case resume(TransferID?)
  }

  /// The parameters of an export.
  package struct ExportOrder: Sendable {
    package let accept: Accept
    package let summary: SourceSummary
    /// The receiver's label and address.
    package let label: String
    package let address: String
    /// The receiver's request to an app.
    package let request: AppRequest?
    /// Whether data may be compressed, as far as the engine knows.
    package let isCompressible: Bool

    /// The items that the destination can hold, if the receiver may refuse items.
    package var traits: DestinationTraits {
      accept.features.contains(.refusals) ? accept.traits ?? DestinationTraits() : DestinationTraits()
    }

    package init(
      accept: Accept, summary: SourceSummary, label: String, address: String, request: AppRequest?, isCompressible: Bool
    ) {
      self.accept = accept
      self.summary = summary
      self.label = label
      self.address = address
      self.request = request
      self.isCompressible = isCompressible
    }
  }
}
