package import MigrationWire

/// The reason why a session, a transfer or a part of one ends early: the only kind of failure that
/// an engine knows.
///
/// Its code decides what this end reports to the other end (Protocol §10), how this program exits,
/// and whether the devices try again.
package struct Fault: Error, Equatable, Sendable, CustomStringConvertible {
  package enum Code: Hashable, Sendable {
    /// The connection was cut, or fell silent.
    case connection
    /// The other end has violated the protocol.
    case violation
    /// The other end has sent more than it announced.
    case announcement
    /// The other end has sent CLOSE.
    case told(Close.Code)
    /// The user of this device has stopped the run.
    case interrupted
    /// The other end has sent no data for long, and another device waits.
    case idle
    /// A newer session has taken over the transfer.
    case superseded
    /// The other device continues a transfer that this device does not know.
    case unknownTransfer
    /// The user of this device has declined the transfer.
    case declined
    /// The devices cannot confirm each other's identity.
    case pairing
    /// An item with this name exists at the destination.
    case exists
    case noSpace
    /// Another transfer that is served at this moment claims the room, or a name.
    case claimed
    /// The destination cannot be used.
    case unfit
    /// Another process uses the destination.
    case inUse
    /// The destination takes two names for one.
    case collision
    /// The app of a part has data here.
    case appHasData
    /// What arrived earlier of a part was changed here, and the source has nothing newer.
    case nothingNewer
    case otherApp
    /// A part of a kind that this program does not take.
    case unknownKind
    /// The app of a part is not installed here.
    case notInstalled
    /// The app of a part is in use here.
    case appInUse
    /// The user of this device has not allowed the part.
    case notAllowed
    case importFailed
    /// The user of this device has cancelled the import.
    case importCancelled
    case exportFailed
    /// The source cannot be read.
    case source
    /// The disk fails.
    case storage
    /// Another error of this device.
    case device
  }

  package let code: Code
  /// A lower-case clause for the user of this device; parts that came from the other device are
  /// escaped.
  package let message: String
  /// A sentence that tells the user what to do.
  package let hint: String?
  /// The subject of the message, for programs.
  package let subject: TransferFailure.Subject
  /// The kind of failure, which decides the exit code.
  package let kind: TransferFailure.Kind
  /// Why, for the other end, where the code does not say it.
  private let cause: Close.Cause?
  /// The system's error that is the cause.
  private let error: UInt16?

  /// The optional arguments replace what the code implies: the hint, the cause, the kind of failure.
  package init(
    _ code: Code, _ message: String, hint: String? = nil, for cause: Close.Cause? = nil, error: UInt16? = nil,
    about subject: TransferFailure.Subject = TransferFailure.Subject(), as kind: TransferFailure.Kind? = nil
  ) {
    self.code = code
    self.message = message
    self.hint = hint ?? code.hint
    self.subject = subject
    self.kind = kind ?? code.kind
    self.cause = cause ?? code.cause
    self.error = error
  }

  /// The CLOSE for the other end.
  package var close: Close {
    let code = code.close
    // Text crosses only where the other end has no words of its own.
    return Close(
      code, code.isWorded || cause != nil ? "" : message, for: cause, name: subject.name, bytes: subject.bytes,
      items: subject.items,
      error: error)
  }

  /// The failure that the user of this device reads.
  package var failure: TransferFailure { TransferFailure(kind, message, hint: hint, about: subject) }

  /// How it ends a part: one that is there already, and has nothing newer, is no failure.
  var outcome: TransferOutcome {
    switch code {
    case .nothingNewer, .told(.nothingNewer): .success(.present)
    default: .failure(failure)
    }
  }

  package var description: String { message }

  /// Whether the other end has reported this itself, and needs no answer.
  package var isTold: Bool { if case .told = code { true } else { false } }

  /// Whether the sender reconnects by itself.
  package var isReconnectable: Bool { code == .connection || code == .claimed || code == .told(.silent) }

  /// Whether it ends one part, and others may still succeed.
  package var isOfPart: Bool {
    switch code {
    case .exists, .noSpace, .unfit, .collision, .appHasData, .nothingNewer, .storage: true
    default: false
    }
  }

  /// Whether a later session may continue a part that has failed by it (Protocol §10).
  var isResumable: Bool {
    switch code.close {
    case .interrupted, .noSpace, .storage, .importFailed, .exportFailed, .silent, .unknownKind, .notInstalled,
      .appInUse:
      true
    default: false
    }
  }

  /// Whether the receiver waits for the sender, which may reconnect by itself or be started again
  /// by its user.
  package var senderMayComeBack: Bool { isReconnectable || code == .told(.interrupted) }
}

extension Fault {
  /// The other end has violated the protocol.
  package init(_ violation: Violation) {
    self.init(violation.code == .announcement ? .announcement : .violation, violation.description)
  }

  /// The other end has sent CLOSE.
  package init(told close: Close) {
    let failure = TransferFailure(told: close)
    self.init(
      .told(close.code), failure.message, hint: failure.hint, about: failure.subject, as: failure.kind)
  }

  package static let superseded = Fault(.superseded, "the other device has reconnected")

  /// The sender comes back by itself, and gets its turn when the other one is done.
  package static let idle = Fault(
    .idle, "the other device sent no data for two minutes, or hardly any, and another device was waiting")

  package static let unknownTransfer = Fault(
    .unknownTransfer, "the other device wants to continue a transfer that is not known here")

  /// The user of this device forgets the other one.
  package static let forgotten = Fault(
    .unknownTransfer, "the other device was forgotten here, so its transfer has ended",
    for: .forgotten)

  /// A known device has begun as many transfers as it may.
  static let tooManyTransfers = Fault(
    .declined, "the other device has \(ReceiverEngine.transfersOfDevice) unfinished transfers here, and begins another",
    for: .tooManyTransfers)

  /// A known device wants a transfer while another one is served; it comes back by itself.
  package static let elsewhere = Fault(.connection, "another transfer is served", for: .elsewhere)

  /// A receiver that stays is ended by its system, and may be started again.
  static let stopped = Fault(.connection, "interrupted", for: .ending, as: .terminated)

  /// The other device's key is not the key of the pairing.
  package static let otherKey = Fault(
    .pairing, "The other device's key is not the one you paired with. Stopped.")

  /// The user of this device stops the run.
  package static func interrupted(by kind: TransferFailure.Kind, _ message: String = "interrupted") -> Fault {
    Fault(.interrupted, message, as: kind)
  }
}

extension Fault.Code {
  /// The CLOSE code for the other end.
  fileprivate var close: Close.Code {
    switch self {
    // The other end, if it receives this at all, treats it as a lost connection too.
    case .connection, .idle, .claimed: .silent
    case .violation, .pairing: .violation
    case .announcement: .announcement
    case .told(let code): code
    case .interrupted: .interrupted
    case .superseded: .superseded
    case .unknownTransfer: .unknownTransfer
    case .declined: .refused
    case .exists: .exists
    case .noSpace: .noSpace
    case .unfit, .inUse, .collision, .appHasData: .unfit
    case .nothingNewer: .nothingNewer
    case .otherApp: .otherApp
    case .unknownKind: .unknownKind
    case .notInstalled: .notInstalled
    case .appInUse: .appInUse
    case .notAllowed: .refused
    case .importFailed, .importCancelled: .importFailed
    case .exportFailed, .source: .exportFailed
    case .storage, .device: .storage
    }
  }

  /// Why, for the other end, where the code of its CLOSE says less.
  fileprivate var cause: Close.Cause? {
    switch self {
    case .pairing: .otherKey
    case .inUse: .inUse
    case .collision: .collision
    case .appHasData: .appHasData
    case .importCancelled: .cancelled
    case .source: .unreadable
    case .idle: .idle
    case .claimed: .claimed
    default: nil
    }
  }

  fileprivate var kind: TransferFailure.Kind {
    switch self {
    case .connection, .idle, .claimed, .superseded: .connectionLost
    case .pairing: .pairing
    case .interrupted, .importCancelled: .interrupted
    case .unknownTransfer, .declined, .exists, .unfit, .inUse, .collision, .appHasData, .nothingNewer, .otherApp,
      .unknownKind, .notInstalled, .appInUse, .notAllowed:
      .refused
    case .noSpace: .noSpace
    case .importFailed: .importFailed
    case .exportFailed: .exportFailed
    case .source: .usage
    case .violation, .announcement, .told, .storage, .device: .failed
    }
  }

  var hint: String? {
    switch self {
    case .connection: DataHint.runAgain.text
    case .exists: DataHint.namesTaken.text
    case .noSpace: "Free some space at the destination, and start again."
    case .unfit: "Choose a directory that exists and that you may write to."
    case .inUse: "Wait until it is done, or choose another destination."
    case .appHasData: DataHint.appHasData.text
    case .collision: "Rename one of the two, or choose a destination that tells such names apart."
    case .otherApp: "Give --app the same app on both devices."
    case .source: "Check the path, and that you may read it."
    case .storage: "The received data is kept. Repair the disk, and start again."
    case .idle: "The received data is kept: the sender may continue at any time."
    case .violation, .announcement, .told, .interrupted, .superseded, .unknownTransfer, .declined, .pairing, .claimed,
      .nothingNewer, .unknownKind, .notInstalled, .appInUse, .notAllowed, .importFailed, .importCancelled,
      .exportFailed, .device:
      nil
    }
  }
}

extension AbortReason {
  package static let interference =
    "Check the code shown on the other device. If this keeps happening, another device on this network may be interfering."

  /// The failure that the sender's user reads when the receiver sends this reason before READY.
  package var failure: TransferFailure {
    switch self {
    case .codeMismatch:
      TransferFailure(
        .pairing, "The code did not match. Nothing was sent.", hint: Self.interference)
    case .notPairing:
      TransferFailure(
        .pairing, "the other device is not showing a code now",
        hint: "Start 'peer receive' there and use the code that it shows; a --from there must name this device.")
    case .codeExpired:
      TransferFailure(
        .pairing, "the code has expired or was used already",
        hint: "Use the code that the other device shows now.")
    case .busy:
      TransferFailure(
        .busy, "the other device is busy",
        hint: "Wait until its transfer is done or fewer devices connect to it, and try again.")
    case .version:
      TransferFailure(
        .failed, "the two devices have versions of peer that do not understand each other",
        hint: "Install the current peer on both, and start again.")
    case .malformed:
      TransferFailure(.pairing, "the other device could not understand this one", hint: Self.interference)
    case .unknownPeer:
      TransferFailure(
        .refused, "the other device does not know this transfer", hint: "Start it again, with a new code.")
    }
  }
}

extension Fault {
  /// The receiver refuses to continue a connection.
  package init(_ reason: AbortReason) {
    let failure = reason.failure
    self.init(.pairing, failure.message, hint: failure.hint, as: failure.kind)
  }
}
