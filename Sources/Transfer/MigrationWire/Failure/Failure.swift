/// The reason why a call, a part or a transfer does not succeed: made where the cause is known, and
/// carried unchanged to the user of this device.
///
/// Its code decides what the other end is told (Protocol §10), how this program exits, and whether
/// the devices try again.
package struct Failure: Error, Equatable, Sendable, CustomStringConvertible {
  package enum Code: Hashable, Sendable {
    /// The connection was cut, or fell silent.
    case connection
    /// No connection was made.
    case unreachable
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
    /// The other device serves others.
    case busy
    /// An item with this name exists at the destination.
    case exists
    case noSpace
    /// Another transfer that is served at this moment has reserved the room, or a name.
    case reserved
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
    /// The bundle of an app, or its extension, cannot be used, or apps cannot be kept here.
    case unfitApp
    /// The source cannot be read.
    case source
    /// The disk fails.
    case storage
    /// The command, or the request of a program, is invalid.
    case usage
    /// This device does not do it as its files and directories are.
    case refused
    /// This end has stopped the work.
    case stopped
    /// The data staged by an earlier run cannot be trusted.
    case journal
    /// The path is not valid for an item of an archive.
    case path
    /// The credentials are locked for too long, or their key is missing.
    case unavailable
    /// A file of this program was cut, changed or moved.
    case damaged
    /// There are as many as there may be.
    case full
    /// Another error of this device.
    case failed
  }

  /// The kinds of failure, each with its exit code in the command's documentation.
  package enum Kind: Int32, Sendable {
    case failed = 1
    case usage = 2
    case pairing = 3
    case refused = 4
    case connectionLost = 5
    case noSpace = 6
    case importFailed = 7
    case exportFailed = 9
    /// The other device serves others.
    case busy = 10
    /// By SIGINT.
    case interrupted = 130
    /// By SIGTERM.
    case terminated = 143
  }

  package let code: Code
  /// The kind of failure, which decides the exit code.
  package var kind: Kind
  /// A complete lower-case clause; parts that came from the other device are escaped.
  private(set) package var message: String
  /// A sentence that tells the user what to do, if it differs from the hint of the code.
  private var ownHint: String?
  /// The entry that the message is about. It may come from the other device, unescaped.
  package let name: [UInt8]?
  /// The needed and the available room, for bytes and for items.
  package let bytes: Close.Space?
  package let items: Close.Space?
  /// Why, for the other end, where the code does not say it.
  private(set) package var closeCause: Close.Cause?
  /// The system's error that is the cause.
  package let systemCause: SystemCause?
  /// Why the destination cannot hold the item, if this was known beforehand.
  package let refusal: NotStored.Reason?
  /// The fault of a bundle, if that is the cause.
  package private(set) var fault: BundleFault?

  /// An error of the system.
  package struct SystemCause: Equatable, Sendable {
    /// Linux's number; 0 where only words say the cause.
    package let number: CInt
    package let words: String

    package init(number: CInt, words: String) {
      self.number = number
      self.words = words
    }
  }

  /// The optional arguments replace what the code implies: the hint, the cause, the kind of failure.
  package init(
    _ code: Code, _ message: String, hint: String? = nil, for cause: Close.Cause? = nil, name: [UInt8]? = nil,
    bytes: Close.Space? = nil, items: Close.Space? = nil, by systemCause: SystemCause? = nil,
    refusing refusal: NotStored.Reason? = nil, fault: BundleFault? = nil, as kind: Kind? = nil
  ) {
    self.code = code
    self.kind = kind ?? code.meaning.kind
    self.message = message
    ownHint = hint
    self.name = name
    self.bytes = bytes
    self.items = items
    closeCause = cause ?? code.meaning.cause
    self.systemCause = systemCause
    self.refusal = refusal
    self.fault = fault
  }

  package var hint: String? { ownHint ?? code.hint }

  /// The CLOSE for the other end.
  package var close: Close {
    let code = code.meaning.close
    // Text crosses only where the other end has no words of its own.
    return Close(
      code, code.isWorded || closeCause != nil ? "" : message, for: closeCause, name: name, bytes: bytes, items: items,
      error: systemCause.flatMap { $0.number > 0 ? UInt16(clamping: $0.number) : nil })
  }

  package var description: String { message }

  /// The same failure with another hint.
  package func hinting(_ hint: String?) -> Failure {
    var failure = self
    failure.ownHint = hint
    return failure
  }

  /// The same failure, where another code says what it means.
  package func coded(_ code: Code) -> Failure {
    var failure = Failure(
      code, message, hint: ownHint, name: name, bytes: bytes, items: items, by: systemCause, refusing: refusal)
    failure.fault = fault
    // A lack of descriptors is one of this process, in each of its calls.
    if closeCause == .descriptors { failure.closeCause = closeCause }
    return failure
  }

  /// The same failure, with what else went wrong after it.
  package func adding(_ clause: String?) -> Failure {
    var failure = self
    if let clause { failure.message += "; \(clause)" }
    return failure
  }

  /// Whether the other end has reported this itself, and needs no answer.
  package var isTold: Bool { if case .told = code { true } else { false } }

  /// Whether the sender reconnects by itself.
  package var isReconnectable: Bool { code == .connection || code == .reserved || code == .told(.silent) }

  /// Whether it ends one part, and others may still succeed.
  package var isOfPart: Bool {
    switch code {
    case .exists, .noSpace, .unfit, .unfitApp, .collision, .appHasData, .nothingNewer, .storage: true
    default: false
    }
  }

  /// Whether a later session may continue a part that has failed by it (Protocol §10).
  package var isResumable: Bool {
    switch code.meaning.close {
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

extension Failure {
  /// The other end has violated the protocol.
  package init(_ violation: Violation) {
    self.init(violation.code == .announcement ? .announcement : .violation, violation.description)
  }

  package static let superseded = Failure(.superseded, "the other device has reconnected")

  /// The sender comes back by itself, and gets its turn when the other one is done.
  package static let idle = Failure(
    .idle, "the other device sent no data for two minutes, or hardly any, and another device was waiting")

  package static let unknownTransfer = Failure(
    .unknownTransfer, "the other device wants to continue a transfer that is not known here")

  /// The user of this device forgets the other one.
  package static let forgotten = Failure(
    .unknownTransfer, "the other device was forgotten here, so its transfer has ended",
    for: .forgotten)

  /// A known device wants a transfer while another one is served; it comes back by itself.
  package static let elsewhere = Failure(.connection, "another transfer is served", for: .elsewhere)

  /// A receiver that stays is ended by its system, and may be started again.
  package static let stopped = Failure(.connection, "interrupted", for: .ending, as: .terminated)

  /// The other device's key is not the key of the pairing.
  package static let otherKey = Failure(
    .pairing, "The other device's key is not the one you paired with. Stopped.")

  /// The user of this device stops the run.
  package static func interrupted(by kind: Kind, _ message: String = "interrupted") -> Failure {
    Failure(.interrupted, message, as: kind)
  }
}

extension Failure.Code {
  var hint: String? { meaning.hint }

  /// The code of the CLOSE for the other end, the cause where that code says less, the kind, and the
  /// hint.
  fileprivate var meaning: (close: Close.Code, cause: Close.Cause?, kind: Failure.Kind, hint: String?) {
    switch self {
    // The other end, if it receives this at all, treats it as a lost connection too.
    case .connection: (.silent, nil, .connectionLost, DataHint.runAgain.text)
    case .unreachable: (.silent, nil, .connectionLost, nil)
    case .idle:
      (.silent, .idle, .connectionLost, "The received data is kept: the sender may continue at any time.")
    case .reserved: (.silent, .reserved, .connectionLost, nil)
    case .superseded: (.superseded, nil, .connectionLost, nil)
    case .violation: (.violation, nil, .failed, nil)
    case .announcement: (.announcement, nil, .failed, nil)
    case .told(let code): (code, nil, .failed, nil)
    case .interrupted: (.interrupted, nil, .interrupted, nil)
    case .pairing: (.violation, .otherKey, .pairing, nil)
    case .unknownTransfer: (.unknownTransfer, nil, .refused, nil)
    case .declined, .notAllowed: (.refused, nil, .refused, nil)
    case .exists: (.exists, nil, .refused, DataHint.namesTaken.text)
    case .noSpace: (.noSpace, nil, .noSpace, "Free some space at the destination, and start again.")
    case .unfit: (.unfit, nil, .refused, "Choose a directory that exists and that you may write to.")
    case .unfitApp: (.unfit, nil, .refused, nil)
    case .inUse: (.unfit, .inUse, .refused, "Wait until it is done, or choose another destination.")
    case .collision:
      (
        .unfit, .collision, .refused, "Rename one of the two, or choose a destination that tells such names apart."
      )
    case .appHasData: (.unfit, .appHasData, .refused, DataHint.appHasData.text)
    case .nothingNewer: (.nothingNewer, nil, .refused, nil)
    case .otherApp: (.otherApp, nil, .refused, "Give --app the same app on both devices.")
    case .unknownKind: (.unknownKind, nil, .refused, nil)
    case .notInstalled: (.notInstalled, nil, .refused, nil)
    case .appInUse: (.appInUse, nil, .refused, nil)
    case .importFailed: (.importFailed, nil, .importFailed, nil)
    case .importCancelled: (.importFailed, .cancelled, .interrupted, nil)
    case .exportFailed: (.exportFailed, nil, .exportFailed, nil)
    case .source: (.exportFailed, .unreadable, .usage, "Check the path, and that you may read it.")
    case .storage:
      (.storage, nil, .failed, "The received data is kept. Repair the disk, and start again.")
    case .busy: (.storage, nil, .busy, nil)
    case .usage: (.storage, nil, .usage, nil)
    case .refused, .full: (.storage, nil, .refused, nil)
    case .stopped, .journal, .path, .unavailable, .damaged, .failed: (.storage, nil, .failed, nil)
    }
  }
}

extension AbortReason {
  package static let interference =
    "Check the code shown on the other device. If this keeps happening, another device on this network may be interfering."

  /// The failure that the sender's user reads when the receiver sends this reason before READY.
  package var failure: Failure {
    switch self {
    case .codeMismatch:
      Failure(
        .pairing, "The code did not match. Nothing was sent.", hint: Self.interference)
    case .notPairing:
      Failure(
        .pairing, "the other device is not showing a code now",
        hint: "Start 'peer receive' there and use the code that it shows; a --from there must name this device.")
    case .codeExpired:
      Failure(
        .pairing, "the code has expired or was used already",
        hint: "Use the code that the other device shows now.")
    case .busy:
      Failure(
        .busy, "the other device is busy",
        hint: "Wait until its transfer is done or fewer devices connect to it, and try again.")
    case .version:
      Failure(
        .failed, "the two devices have versions of peer that do not understand each other",
        hint: "Install the current peer on both, and start again.")
    case .malformed:
      Failure(.pairing, "the other device could not understand this one", hint: Self.interference)
    case .unknownPeer:
      Failure(
        .refused, "the other device does not know this transfer", hint: "Start it again, with a new code.")
    }
  }
}
