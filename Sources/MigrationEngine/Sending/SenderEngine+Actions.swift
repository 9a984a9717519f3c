package import MigrationWire

extension SenderEngine {
  /// What a sender does. The loop performs actions in their order; one that blocks is a worker's, which ends in exactly one event,
  /// also where its thread cannot be made. Times are seconds on the loop's clock.
  package enum Action: Sendable {
    // MARK: The run

    /// A worker: finds out what there is to send. Leads to `walked`.
    case walk
    /// A worker: what an earlier run began. Leads to `lookedUp`.
    case lookUpUnfinished
    /// A worker: the user enters the code that this device shows. Leads to `codeEntered`.
    case askCode(DeviceAddress)
    /// A worker: the user says which of several receivers is meant. Leads to `chosen`.
    case choose([Nearby])
    /// The workers of `walk`, `choose` and `askCode` are to end soon. Their events follow.
    case stopPreparing
    /// A worker: the slow derivation of Protocol §4.4, before there is a connection. Leads to `derived`.
    case deriveSecret(PairingCode)
    /// The user of this device hears of something.
    case tell(TransferEvent)
    /// The same, of how far the transfer is: what has arrived is read from the window's counters.
    case tellProgress(SessionNumber, TransferPhase, total: ExpectedTotal, fraction: Double?)
    /// The run is over; what still goes on ends with the process. Nothing follows.
    case finish(Result<TransferResult, TransferFailure>)

    // MARK: Reaching the receiver

    /// A worker: looks for a few seconds which receivers wait in this network. Leads to `found`.
    case look
    /// A worker: whether anything listens at one of a place's addresses, by a TCP connection that is closed at once. `dial`
    /// begins with the address that answers. Leads to `probed`.
    case probe(Place)
    /// A worker: a place's addresses in a race, TCP, TLS, and what stands before READY. Leads to `dialed`.
    case dial(Purpose, at: Place)
    /// The worker of `look`, `probe` or `dial` is to end soon. Its event follows.
    case stopDialing

    // MARK: The control connection

    /// The loop reads and writes a connection at READY from now on.
    case converse(ConnectionID)
    case say(ConnectionID, ControlMessage)
    /// Says what was said, close_notify, and waits for the other end's, until a moment. Leads to `closed`.
    case close(ConnectionID, until: Double)

    // MARK: Workers of a session

    /// A page of what is held, or an incomplete file: the export leaves it out.
    case keepHeld(SessionNumber, Held)
    case keepPartial(SessionNumber, Partial)
    /// A worker: remembers the transfer before anything is sent, then packs everything that is not held into the session's window.
    /// Leads to `exported`.
    case export(SessionNumber, ExportOrder)
    /// A worker: connects to the receiver's address, joins, and sends what the window gives it. Leads to `streamEnded`.
    case openStream(SessionNumber, Join, attempts: Int)
    /// What a lost stream had under way is its heir's.
    case moveFrames(SessionNumber, from: StreamNumber, to: StreamNumber)
    /// A stream gets nothing new, and ends when everything of it is written.
    case retire(SessionNumber, StreamNumber)
    /// A stream is over for good.
    case forgetStream(SessionNumber, StreamNumber)
    /// The destination cannot hold an item.
    case refuse(SessionNumber, Mark)
    /// Nothing more is submitted: streams end when everything of them is written.
    case finishWindow(SessionNumber)
    /// Every worker of the session is to end soon. Their events follow.
    case stopSession(SessionNumber)
    /// A worker: all is sent but so many items, which a run that only hears the answer must know; durable before FINISH is said.
    /// Leads to `finishNoted`.
    case noteFinish(SessionNumber, TransferID, Finish)
    /// Leads at once to `window`. Only a session that has begun its export is asked.
    case readWindow(SessionNumber)

    // MARK: Workers of a transfer

    /// A worker: the receiver has said that all is done, and these are named as not stored; durable before the receipt is said.
    /// Leads to `recorded`.
    case recordDone(TransferID, Done, refusals: [Refusal])
    /// A worker: a session is over; notes how far it came. Leads to `noted`.
    case note(TransferID, arrived: Tally, total: Tally, address: String)
    /// A worker: the transfer is done, or the other device no longer knows it. Leads to `forgot`.
    case forget(TransferID)
  }

  /// What a connection is dialled for.
  package enum Purpose: Equatable, Sendable {
    /// To pair by the secret that was derived, with a fresh key.
    case pair
    /// To come back to a transfer, with its key. A receiver with another key than the pinned one is a stranger. Nil names the
    /// transfer that was just paired and has no name yet.
    case resume(TransferID?)
  }

  /// What an export needs.
  package struct ExportOrder: Sendable {
    package let accept: Accept
    package let summary: SourceSummary
    /// What the receiver calls itself, and where it is.
    package let label: String
    package let address: String
    /// What the receiver asks an app for.
    package let request: AppRequest?
    /// Whether data may be compressed, as far as the engine knows.
    package let isCompressible: Bool

    /// What the destination can hold, where the receiver may refuse items.
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
