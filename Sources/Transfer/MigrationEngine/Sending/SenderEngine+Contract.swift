package import MigrationWire

extension SenderEngine {
  /// Names a data stream of a session.
  package typealias StreamNumber = UInt32

  /// An event at the sender. The loop gives events to the engine one at a time, in their order of
  /// occurrence.
  package enum Event: EngineEvent {
    // MARK: The run

    /// The first event.
    case begin
    /// The worker of `walk` has ended: the totals of each part.
    case walked(Result<[SourceSummary], Failure>)
    /// The worker of `lookUpUnfinished` has ended: the transfers that this source began earlier,
    /// newest first; and the receivers with which a pairing was kept.
    case lookedUp(Result<[EarlierTransfer], Failure>, devices: [KnownDevice] = [])
    /// The worker of `askCode` has ended.
    case codeEntered(Result<PairingCode, Failure>)
    /// The worker of `deriveSecret` has ended.
    case derived(Failure?)
    /// The user stops the run with a signal.
    case stop(Failure.Kind)
    /// The user has forgotten the receiver.
    case forgotten
    /// A moment has come: one that `nextMoment` named, or any other.
    case timePassed

    // MARK: Reaching the receiver

    /// The worker of `look` has ended: the receivers that it has found. `spread`, from 0 to 1, is
    /// random.
    case found(Result<[DeviceAddress], Failure>, spread: Double)
    /// The worker of `choose` has ended: the index of the chosen receiver.
    case chosen(Result<Int, Failure>)
    /// The worker of `probe` has ended.
    case probed(Result<DeviceAddress, Failure>)
    /// News from the worker of `dial`, which continues: the addresses that it tries.
    case dialing(first: String)
    /// The worker of `dial` has ended. `spread`, from 0 to 1, is random.
    case dialed(Result<Meeting, DialFailure>, spread: Double)

    // MARK: The control connection, which the loop reads and writes from `converse` to `closed`

    case received(ConnectionID, ControlMessage)
    /// The connection was cut or is silent, or its other end has violated the protocol. Only
    /// `closed` follows for it.
    case broke(ConnectionID, Failure)
    /// Almost everything queued on the connection is sent: there is room for the next page of a
    /// long message.
    case drained(ConnectionID)
    /// The connection is closed, as `close` asked. `spread`, from 0 to 1, is random.
    case closed(ConnectionID, spread: Double)

    // MARK: Workers of a session; an older session's workers end with its number

    /// The worker of `recordPlan` has ended.
    case planRecorded(SessionNumber, TransferID, Failure?)
    /// News from the export: an item that could not be sent.
    case unsent(SessionNumber, NotStored)
    /// The worker of `export` has ended: everything is exported and written. The marks are those of
    /// held items that the source no longer has, ascending.
    case exported(SessionNumber, Result<ExportResult, Failure>)
    /// News from a stream: JOIN is sent; and the address of a stream that does not go as the control
    /// connection does.
    case streamJoined(SessionNumber, StreamNumber, by: InternetAddress? = nil)
    /// The worker of `openStream` has ended.
    case streamEnded(SessionNumber, StreamNumber, StreamEnd)
    /// The worker of `noteFinish` has ended; the fault is that of a worker that could not begin.
    case finishNoted(SessionNumber, TransferID, Failure?)
    /// The counts that `readWindow` asked for.
    case window(SessionNumber, WindowCounts)

    // MARK: Workers of a transfer, one at a time

    /// The worker of `recordDone` has ended, and whether it wrote the record.
    case recorded(TransferID, Traffic?, isWritten: Bool)
    /// The worker of `note` has ended.
    case noted(TransferID)
    /// The worker of `forget` has ended.
    case forgot(TransferID)
  }

  /// A transfer that an earlier run began.
  package struct EarlierTransfer: Sendable {
    package let identifier: TransferID
    /// The receiver's key: the pin.
    package let receiver: KeyFingerprint
    /// The receiver's last address, with the port.
    package let address: String
    /// When an earlier run last recorded something of it, such as a FINISH, in seconds since 1970.
    package let lastSeen: Int64
    package let parts: [PartRecord]

    package init(
      identifier: TransferID, receiver: KeyFingerprint, address: String = "", lastSeen: Int64 = 0,
      parts: [PartRecord] = [PartRecord()]
    ) {
      self.identifier = identifier
      self.receiver = receiver
      self.address = address
      self.lastSeen = lastSeen
      self.parts = parts
    }

    /// Whether every part is finished, and the run that knew it ended before it could tell its user.
    var isDone: Bool { parts.allSatisfy { $0.finished != nil } }
  }

  /// A receiver that needs no code, since the pairing with it was kept.
  package struct KnownDevice: Equatable, Sendable {
    /// Its key: the pin.
    package let receiver: KeyFingerprint
    /// Its last address without the port, and its label.
    package let host: String
    package let label: String

    package init(receiver: KeyFingerprint, host: String, label: String) {
      self.receiver = receiver
      self.host = host
      self.label = label
    }
  }

  /// The connection to the receiver, on which both ends have sent READY.
  package struct Meeting: Sendable {
    package let connection: ConnectionID
    /// The receiver's address, for people, and with the port for the next run.
    package let host: String
    package let address: String
    /// The relay through which it was reached.
    package let relay: String?
    /// This device's own addresses, for a receiver that was reached through a relay.
    package let own: OwnAddresses?

    package init(
      connection: ConnectionID, host: String, address: String, relay: String? = nil, own: OwnAddresses? = nil
    ) {
      self.relay = relay
      self.own = own
      self.connection = connection
      self.host = host
      self.address = address
    }
  }

  /// The reason why a dial failed.
  package enum DialFailure: Error, Sendable {
    /// The name is not found. It may be found when the network is back.
    case unresolved(Failure)
    /// No address answered, or the connection was cut before either end had judged anything.
    case unreached(Failure, reason: String)
    /// After TCP had connected, the receiver closed the connection before either end had judged
    /// anything, or sent that it is busy.
    case turnedAway(Failure, reason: String)
    /// The receiver serves others first: so many, or 0 where it does not say.
    case queued(place: UInt16)
    /// No device waits at the relay for this one: it is not there yet, or it knows this one no more.
    case absent(reason: String)
    /// A device with another key has the address.
    case stranger(KeyFingerprint)
    /// The receiver does not know the transfer.
    case forgotten
    /// This device has stopped it.
    case stopped
    /// Another attempt would have the same result, or let the other end test another guess at the
    /// code.
    case failed(Failure)
  }

  /// How a data stream ended.
  package enum StreamEnd: Equatable, Sendable {
    /// By END: all its frames are written.
    case finished
    /// It broke, or never joined, or was refused for lack of a place; and whether any of its frames
    /// are written.
    case lost(hasBrought: Bool)
    /// The receiver does not know its session, which may have ended there already: this ends the
    /// transfer only if it persists.
    case turnedAway(Failure)
    /// This device has stopped it.
    case stopped
    case failed(Failure)
  }

  /// The counters of the streams and of the window.
  package struct WindowCounts: Equatable, Sendable {
    /// The amount that the receiver has by now, including the data that it held before.
    package var arrived = Tally()
    /// Whether the receiver has written data that it did not hold before.
    package var hasProgressed = false
    /// About how many frames are still to be read, without those that streams are reading now.
    package var waitingFrames = 0
    /// About how many frames of the running part no stream has sent; nil where its size is an estimate.
    package var unsentFrames: Int?
    /// The total length of all written frames, and their number.
    package var writtenLength: UInt64 = 0
    package var writtenFrames: UInt64 = 0
    /// When the last of them was written, as far as the sender knows; nil where it does not know.
    package var lastWritten: Double?
    /// How many frames of each present stream are written.
    package var framesOfStream: [StreamNumber: UInt64] = [:]
    /// Whether the user's limit has delayed a stream since the last read.
    package var isLimited = false

    package init() {}
  }
}

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
    /// A worker computes the slow derivation of Protocol §4.4, before there is a connection, unless
    /// the code has no try left. Leads to `derived`.
    case deriveSecret(PairingCode)
    /// The user of this device is told about an event, in which the items of a part have the paths of
    /// this device.
    case tell(TransferEvent, part: UInt16 = 0)
    /// The user is told the progress of the transfer: the loop reads the arrived amount from the
    /// window's counters.
    case tellProgress(SessionNumber, TransferProgress.Phase, total: ExpectedTotal, fraction: Double?)
    /// The run has ended; remaining work ends with the process. Nothing follows.
    case finish(TransferOutcome)

    // MARK: Reaching the receiver

    /// A worker looks for a few seconds for receivers that wait in this network. Leads to `found`.
    case look
    /// A worker checks whether anything listens at one of a place's addresses, with a TCP
    /// connection that it closes at once. `dial` begins with the address that answers. Leads to
    /// `probed`.
    case probe(DialTarget)
    /// A worker races a place's addresses, and does TCP, TLS, and everything before READY. Leads to
    /// `dialed`.
    case dial(Purpose, at: DialTarget)
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

    /// A part's ledger begins. The unfinished ledger of an earlier, failed part is over.
    case beginLedger(SessionNumber)
    /// A page of marks of held items, or an incomplete file: the export leaves them out.
    case keepHeld(SessionNumber, Held)
    case keepPartial(SessionNumber, Partial)
    /// A worker records the plan and the receiver's answer, durably, before anything is sent. Leads
    /// to `planRecorded`.
    case recordPlan(SessionNumber, PlanRecord)
    /// A worker packs everything of a part that is not held into the session's window. Leads to
    /// `exported`, when everything that it has packed is written.
    case export(SessionNumber, ExportOrder)
    /// The part has failed at the receiver: the worker of `export` is to end soon.
    case abandonExport(SessionNumber)
    /// A worker connects to the receiver, joins, and sends the frames that the window gives it. Leads
    /// to `streamEnded`.
    case openStream(SessionNumber, Join, attempts: Int, by: StreamRoute)
    /// The replacement of a lost stream takes over its unacknowledged frames.
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
    case noteFinish(SessionNumber, TransferID, part: UInt16, Finish)
    /// Leads at once to `window`. Used only in a session that has begun its export.
    case readWindow(SessionNumber)

    // MARK: Workers of a transfer

    /// A worker records that the receiver has sent DONE for a part, and the items named as not
    /// stored; the record is durable before the next OFFER or RECEIPT is sent. Leads to `recorded`.
    case recordDone(TransferID, part: UInt16, Done, refusals: [NotStored])
    /// A worker records the progress of a session that has ended. Leads to `noted`.
    case note(TransferID, arrived: Tally, total: Tally, address: String)
    /// A worker forgets a transfer that is done, or that the other device no longer knows. Leads to
    /// `forgot`.
    case forget(TransferID)
  }

  /// The purpose of a dial.
  package enum Purpose: Equatable, Sendable {
    /// To pair with the derived secret and a fresh key. That spends a try of the code once the
    /// receiver has shown its share.
    case pair
    /// To come back to a transfer, with its key. A receiver with a key other than the pinned one is
    /// a stranger. Nil names the transfer that was just paired and has no name yet.
    case resume(TransferID?)
    /// To begin a transfer with a known device, with the key of the pairing that was kept.
    case greet(KeyFingerprint)
  }

  /// The values that the record of a plan has.
  package struct PlanRecord: Sendable {
    package let transfer: TransferID
    package let plan: Plan
    /// The receiver's label and address.
    package let label: String
    package let address: String
    /// Whether both ends keep the pairing.
    package let keepsPairing: Bool
  }

  /// How a data stream reaches the receiver.
  package enum StreamRoute: Equatable, Sendable {
    /// As the control connection does: through its relay, or at its address.
    case asControl
    /// At an address of the receiver's.
    case address(InternetAddress)
    /// At the first of these that leads there, or by a connection that the receiver makes meanwhile.
    /// The attempts last as long as a round.
    case round([InternetAddress])
  }

  /// The parameters of an export.
  package struct ExportOrder: Sendable {
    package let transfer: TransferID
    package let part: UInt16
    package let accept: Accept
    /// The number of bytes that the session allows to be unacknowledged.
    package let window: UInt64
    /// The receiver's request to an app.
    package let request: AppRequest?
    /// Whether data may be compressed, as far as the engine knows.
    package let isCompressible: Bool
    /// The names of the roots that the receiver refuses.
    package let refusedRoots: [[UInt8]]
    /// The contents of the part, and where its roots come from.
    package let summary: SourceSummary

    /// The items that the destination can hold, as far as the receiver knows.
    package var traits: DestinationTraits { accept.traits ?? DestinationTraits() }
  }
}
