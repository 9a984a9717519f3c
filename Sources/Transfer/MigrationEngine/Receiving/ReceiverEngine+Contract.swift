package import MigrationWire

extension ReceiverEngine {
  /// An event at the receiver. The loop gives events to the engine one at a time, in their order of
  /// occurrence.
  package enum Event: EngineEvent {
    // MARK: The run

    /// The first event.
    case begin
    /// The worker of `takeBack` has ended.
    case tookBack(Result<[EarlierTransfer], Failure>)
    /// The worker of `listen` has ended. From now on connections may arrive.
    case listening(Result<Listening, Failure>)
    /// The user stops the run with a signal.
    case stop(Failure.Kind)
    /// A moment has come: one that `nextMoment` named, or any other.
    case timePassed
    /// News from any worker: an event that the user of this device is to be told, and the transfer
    /// that it is about. The worker of `importItems` reports `staged` and `importing` this way.
    case noticed(TransferEvent, of: TransferID? = nil)

    // MARK: Connections before READY (Protocol §4, §11)

    /// The loop has accepted a connection, which so far costs only a descriptor. `chance` is
    /// random.
    case arrived(ConnectionID, Remote, chance: UInt64)
    /// The first TLS record of a connection in the accept queue is complete.
    case spoke(ConnectionID)
    /// A connection in the accept queue has ended, or does not speak TLS; or the worker of `greet`,
    /// `exchange`, `keepProof`, `confirm`, `welcome` or `turnAway` has ended without a result. The connection is
    /// closed.
    case departed(ConnectionID)
    /// The user has forgotten the device of a transfer.
    case forgotten(TransferID)
    /// The relay has given this device a place.
    case placed(RelayPlace)
    /// This device has no place at its relay, or none any more, and why: a lower-case clause.
    case unplaced(String)
    /// The loop cannot accept a connection, because no descriptors are left.
    case outOfDescriptors(chance: UInt64)
    /// News from the worker of `greet`, which continues: TLS is established, and the other end has
    /// shown this key, which is that of a known device or not.
    case secured(ConnectionID, KeyFingerprint?, isOfDevice: Bool = false)
    /// The worker of `greet` has ended: HELLO has arrived.
    case asked(ConnectionID, ConnectionMode)
    /// The worker of `awaitShare` has ended: PAIR_A has arrived.
    case shared(ConnectionID)
    /// The worker of `exchange` has ended, since CONF_A has arrived, or that of `keepProof`. The
    /// engine must not look at `isRight` before it has spent a try.
    case proved(ConnectionID, isRight: Bool)
    /// The worker of `confirm`, or of `welcome` for the mode *resume*, has ended: both ends have
    /// sent READY. `identifier` is a fresh random one, for a transfer that begins.
    case ready(ConnectionID, identifier: TransferID)
    /// The worker of `welcome` for the mode *join* has ended: READY is exchanged, and JOIN has
    /// arrived after it.
    case joining(ConnectionID, Join)

    // MARK: Codes and questions

    /// The worker of `makeCode` has ended.
    case codeMade(Result<PairingCode, Failure>)
    /// The question has ended: the user's answer, or nil where the question was withdrawn or no
    /// answer can be had. `taking` has the classes that a person takes of each part, by its number;
    /// nil where no person was asked. `removals` says of roots whether what was removed arrives again.
    case answered(Bool?, taking: [UInt16: ArrivalClasses]? = nil, removals: Removals = [:])

    // MARK: Control connections, which the loop reads and writes from `converse` to `closed`

    case received(ConnectionID, ControlMessage)
    /// The connection was cut or is silent, or its other end has violated the protocol. Only
    /// `closed` follows for it.
    case broke(ConnectionID, Failure)
    /// Almost everything queued on the connection is sent: there is room for the next part of a
    /// ledger.
    case drained(ConnectionID)
    /// The connection is closed, as `close` asked.
    case closed(ConnectionID)

    // MARK: Workers of a session; an older session's workers end with its number

    /// The worker of `judgePlan` has ended. `session` is a fresh random one; `consent` has what a
    /// person has answered about the transfer, or about the device's earlier ones.
    case planJudged(SessionNumber, Result<PlanJudgement, Failure>, session: SessionID, consent: Consent = Consent())
    /// The worker of `record` has ended, and whether it keeps the pairing.
    case recorded(SessionNumber, Failure?, isKept: Bool = false)
    /// The worker of `stage` has ended.
    case staged(SessionNumber, Result<Admitted, Failure>)
    /// The worker of `readLedger` has ended: the next part of the ledger.
    case ledger(SessionNumber, Result<LedgerPage, Failure>)
    /// The worker of `dropItems` has ended.
    case dropped(SessionNumber, Failure?)
    /// The worker of `serve` has ended, and nothing more of its stream is written. `held` is the
    /// amount staged by then.
    case streamEnded(ConnectionID, StreamEnd, held: Tally)
    /// The worker of `dial` has ended: it has reported the connections that it has made as arrivals.
    case dialed(SessionNumber)
    /// The result of `lookForData`: when the last frame of data was written, or the session was
    /// accepted; nil while a frame is being written.
    case lookedForData(SessionNumber, lastAt: Double?, held: Tally)
    /// The result of `shutGate`: a violation where a frame was still being written, which cannot
    /// have been acknowledged.
    case gateShut(SessionNumber, Failure?)
    /// The worker of `sync` has ended.
    case syncEnded(SessionNumber, Failure?)

    // MARK: Workers of a transfer

    /// News: the destination cannot hold these items.
    case refused(TransferID, [NotStored])
    /// News: the progress of the import.
    case importing(TransferID, ImportProgress)
    /// The worker of `importItems` has ended. It has reported all refusals before; `refused` are
    /// the named ones that FINISH covered.
    case imported(TransferID, Result<Done, Failure>, Traffic, refused: [NotStored])
    /// The worker of `note`, `forget`, `discard` or `release` has ended.
    case noted(TransferID)
    /// The worker of `retake` has ended: the state of a transfer; nil where another process has
    /// discarded it.
    case retook(TransferID, Result<EarlierTransfer?, Failure>)

    package static func closed(_ connection: ConnectionID, spread: Double) -> Event { .closed(connection) }
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
    /// From now on, the loop announces this device on its networks, at the port where it listens,
    /// and has a place for it at its relay. Only for the place events report the outcome.
    case announce
    /// The loop ends the announcement.
    case withdrawAnnouncement
    /// The user of this device is told about an event, in which the items of a transfer's part have the
    /// paths of this device.
    case tell(TransferEvent, of: TransferID? = nil, part: UInt16 = 0)
    /// The user is told the progress of a transfer: the loop reads the staged amount from its
    /// counters, and `total` is the announced amount.
    case tellProgress(TransferID, TransferProgress.Phase, total: ExpectedTotal, fraction: Double?)
    /// The run has ended. Remaining work ends with the process, or releases its locks when it ends.
    case finish(TransferOutcome)

    // MARK: Connections before READY

    /// Closes a connection in the accept queue, or one that rests between two actions, without
    /// sending anything. No event follows.
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
    /// A worker keeps a proof that came too soon, and its connection, until a moment. Leads to
    /// `proved` or `departed`.
    case keepProof(ConnectionID, isRight: Bool, until: Double)
    /// A worker sends CONF_B and exchanges READY. Leads to `ready` or `departed`.
    case confirm(ConnectionID, until: Double)
    /// A worker sends HELLO_S and exchanges READY, and for the mode *join* reads JOIN. Leads to
    /// `ready`, `joining` or `departed`.
    case welcome(ConnectionID, ConnectionMode, until: Double)
    /// A worker sends ABORT and closes the connection. `place` is that of a sender that waits in the
    /// line, or 0. Leads to `departed`.
    case turnAway(ConnectionID, AbortReason, place: UInt16 = 0)
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

    /// A worker judges names, room and fitness of these parts of the device with this key, and writes
    /// nothing. Without parts it needs nothing of the transfer, which may be released. Leads to
    /// `planJudged`.
    case judgePlan(SessionNumber, TransferID, Plan, [UInt16], KeyFingerprint)
    /// A worker records the plan. Leads to `recorded`.
    case record(SessionNumber, PlanRecord)
    /// A worker judges a part's totals, makes its staging directory if there is none, and looks for
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
    /// A worker connects to the sender's addresses, for as long as a round lasts, from the port that
    /// the control connection has. Each connection that is made arrives like those that
    /// others make. Leads to `dialed`.
    case dial(SessionNumber, [InternetAddress], from: UInt16)
    /// The worker of `dial` is to end soon. Its event follows.
    case endDial(SessionNumber)
    /// A worker makes the written data durable, again and again. Leads to `syncEnded`.
    case sync(SessionNumber)
    /// The worker of `sync` is to end soon. Its event follows.
    case endSync(SessionNumber)
    /// The loop looks when the last data of a session came. Leads to `lookedForData`.
    case lookForData(SessionNumber)
    /// The session's sender has sent everything: from this step on nothing more is written. Leads
    /// to `gateShut`.
    case shutGate(SessionNumber)
    /// The ledger is sent: data of the part is written from now on.
    case openGate(SessionNumber)
    /// The part has failed: its data is acknowledged, and not written.
    case discardData(SessionNumber)
    /// From now on nothing of a session is written, except the frames that are being written.
    case closeGate(SessionNumber)

    // MARK: Workers of a transfer

    /// A worker imports the items of a part. With `finish`, it first compares the received data with FINISH
    /// and makes it durable. `unsent` has what the sender has named and left out. Leads to `imported`.
    case importItems(TransferID, UInt16, finish: (SessionNumber, Finish)?, unsent: LeftOutItems)
    /// The user stops the run: an import that can be undone is broken off. Its event follows.
    case interruptImport(TransferID)
    /// A worker records the progress of a transfer, for the list of unfinished transfers. Leads to
    /// `noted`.
    case note(TransferID)
    /// A worker forgets a transfer, with what is staged of parts that have failed: its sender knows
    /// that it is over. Leads to `noted`.
    case forget(TransferID)
    /// A worker discards an empty transfer with its staging directories. Leads to `noted`.
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
    /// Whether to accept a new transfer of the device with this key. If the user refuses, the receiver no
    /// longer expects that device.
    case consent(ConsentQuestion, client: KeyFingerprint)
  }

  /// Whether items that were moved or removed here arrive again, by the numbers of parts and the
  /// names of their roots.
  package typealias Removals = [UInt16: [[UInt8]: Bool]]
}

/// The items of a part that the sender has named in its newest session and left out.
package struct LeftOutItems: Equatable, Sendable {
  /// The paths at which the source could not be read.
  package var unreadable: [[UInt8]] = []
  /// How many of FINISH's unsent items the sender has named.
  package var named: UInt64 = 0

  package init() {}

  /// Adds an item that the sender has named.
  mutating func note(_ item: NotStored) {
    guard item.reason.party == .sender else { return }
    named += 1
    if item.reason == .unreadable { unreadable.append(item.path) }
  }
}
