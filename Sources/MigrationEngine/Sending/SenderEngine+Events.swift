package import MigrationWire

extension SenderEngine {
  /// Names a data stream of a session.
  package typealias StreamNumber = UInt32

  /// What happens to a sender. The loop gives events to the engine one at a time, in the order in which they came.
  package enum Event: Sendable {
    // MARK: The run

    /// The first event.
    case begin
    /// The worker of `walk` has ended.
    case walked(Result<SourceSummary, Fault>)
    /// The worker of `lookUpUnfinished` has ended: what this source has begun to send earlier, newest first.
    case lookedUp(Result<[UnfinishedTransfer], Fault>)
    /// The worker of `askCode` has ended.
    case codeEntered(Result<PairingCode, TransferFailure>)
    /// The worker of `deriveSecret` has ended.
    case derived(Fault?)
    /// The user ends the run, by a signal.
    case stop(TransferFailure.Kind)
    /// A moment that `nextMoment` named has come, or any other.
    case timePassed

    // MARK: Reaching the receiver

    /// The worker of `look` has ended: the receivers that it has found. `spread`, from 0 to 1, is random.
    case found(Result<[Nearby], Fault>, spread: Double)
    /// The worker of `choose` has ended: which of those it is.
    case chosen(Result<Int, TransferFailure>)
    /// The worker of `probe` has ended.
    case probed(Result<DeviceAddress, ProbeFailure>)
    /// News of the worker of `dial`, which goes on: the addresses that it tries.
    case dialing(first: String)
    /// The worker of `dial` has ended. `spread`, from 0 to 1, is random.
    case dialed(Result<Meeting, DialFailure>, spread: Double)

    // MARK: The control connection, which the loop reads and writes from `converse` to `closed`

    case received(ConnectionID, ControlMessage)
    /// The connection is cut, or silent, or its other end has broken the protocol. Nothing more comes of it but `closed`.
    case broke(ConnectionID, Fault)
    /// What was said on it is gone, but for little: there is room for the next page of what is long.
    case drained(ConnectionID)
    /// What `close` began is done. `spread`, from 0 to 1, is random.
    case closed(ConnectionID, spread: Double)

    // MARK: Workers of a session; those of an older one end with its number

    /// News of the export, before it sends anything: what of the source the destination cannot hold, a lower-case clause.
    case withholding(SessionNumber, clause: String)
    /// News of the export: an item that could not be sent.
    case unsent(SessionNumber, Unsent)
    /// The worker of `export` has ended: everything is exported and written; the marks are of held items that the source no
    /// longer has, ascending.
    case exported(SessionNumber, Result<Exported, Fault>)
    /// News of a stream: JOIN is said.
    case streamJoined(SessionNumber, StreamNumber)
    /// The worker of `openStream` has ended.
    case streamEnded(SessionNumber, StreamNumber, StreamEnd)
    /// The worker of `noteFinish` has ended; the fault is of one that could not begin.
    case finishNoted(SessionNumber, TransferID, Fault?)
    /// What `readWindow` wanted to know.
    case window(SessionNumber, WindowCounts)

    // MARK: Workers of a transfer, of which the engine lets one work at a time

    /// The worker of `recordDone` has ended; whether it is written down.
    case recorded(TransferID, Traffic, isWritten: Bool)
    /// The worker of `note` has ended.
    case noted(TransferID)
    /// The worker of `forget` has ended.
    case forgot(TransferID)
  }

  /// A transfer that an earlier run began.
  package struct UnfinishedTransfer: Sendable {
    package let identifier: TransferID
    /// The receiver's key: the pin.
    package let receiver: KeyFingerprint
    /// Where it was last, with the port.
    package let address: String
    package let unsent: UInt64
    /// What the receiver said in a run that ended before it could tell its user.
    package let done: Done?
    /// What was named as not stored, which is kept beside that.
    package let refusals: [Refusal]

    package init(
      identifier: TransferID, receiver: KeyFingerprint, address: String = "", unsent: UInt64 = 0, done: Done? = nil,
      refusals: [Refusal] = []
    ) {
      self.identifier = identifier
      self.receiver = receiver
      self.address = address
      self.unsent = unsent
      self.done = done
      self.refusals = refusals
    }
  }

  /// The receiver was met, and both ends said READY.
  package struct Meeting: Sendable {
    package let connection: ConnectionID
    package let receiver: KeyFingerprint
    /// Its address, for people, and with the port for the next run.
    package let host: String
    package let address: String

    package init(connection: ConnectionID, receiver: KeyFingerprint, host: String, address: String) {
      self.connection = connection
      self.receiver = receiver
      self.host = host
      self.address = address
    }
  }

  /// Why a look at the receiver's addresses came to nothing.
  package enum ProbeFailure: Error, Sendable {
    /// The name is not found.
    case unresolved(TransferFailure)
    /// No address answered.
    case unreached(DeviceAddress, by: AddressRace.Obstacle)
    /// This end was stopped.
    case stopped
    /// Something of this device.
    case failed(TransferFailure)
  }

  /// Why a dial came to nothing.
  package enum DialFailure: Error, Sendable {
    /// The name is not found. It may be while the network is away.
    case unresolved(TransferFailure)
    /// No address answered, or the connection was cut before anything was judged.
    case unreached(TransferFailure, reason: String)
    /// TCP had connected, and the door closed before anything was judged; or it said that it is busy.
    case turnedAway(TransferFailure, reason: String)
    /// A device with another key is there.
    case stranger(KeyFingerprint)
    /// It does not know the transfer.
    case forgotten
    /// This end was stopped.
    case stopped
    /// Another try would come to the same.
    case failed(TransferFailure)
  }

  package struct Exported: Sendable {
    package let finish: Finish
    package let stale: [Mark]

    package init(finish: Finish, stale: [Mark]) {
      self.finish = finish
      self.stale = stale
    }
  }

  /// How a data stream ended.
  package enum StreamEnd: Equatable, Sendable {
    /// By END: everything of it is written.
    case finished
    /// It broke, or never came up, or found no place; whether anything that it carried is written.
    case lost(hasBrought: Bool)
    /// The receiver does not know its session, which may be over there already: the transfer ends for this only if it stays so.
    case turnedAway(Fault)
    /// It was told to end.
    case stopped
    case failed(Fault)
  }

  /// How the streams and the window do, read from their counters.
  package struct WindowCounts: Equatable, Sendable {
    /// What the receiver has by now, what it held before included.
    package var arrived = Tally()
    /// Whether anything was written that was not there before.
    package var hasProgressed = false
    /// About how many frames are still to be read, without those that streams read now.
    package var waitingFrames = 0
    /// The lengths of all written frames, and how many there are.
    package var writtenLength: UInt64 = 0
    package var writtenFrames: UInt64 = 0
    /// When the last of them was written, as the sender knows; nil where it does not.
    package var lastWritten: Double?
    /// How many are written of each stream that there is.
    package var framesOfStream: [StreamNumber: UInt64] = [:]
    /// Whether the user's limit has held a stream back since the last look.
    package var isLimited = false

    package init() {}
  }
}
