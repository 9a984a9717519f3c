package import MigrationWire

/// What a part of a transfer is called on both sides.
package enum TransferPhase: String, Sendable {
  case pairing
  case checking
  case sending
  case receiving
  case verifying
  case importing
}

/// How far a transfer is, over all of it: what an earlier session brought is included.
package struct TransferProgress: Equatable, Sendable {
  package let phase: TransferPhase
  package let bytes: UInt64
  /// Nil where more has come than was estimated.
  package let totalBytes: UInt64?
  package let items: UInt64
  package let totalItems: UInt64
  /// How much of the phase itself is done, from 0 to 1, where that is something else than what has arrived.
  package let phaseFraction: Double?

  package init(
    phase: TransferPhase, bytes: UInt64, totalBytes: UInt64?, items: UInt64, totalItems: UInt64,
    phaseFraction: Double? = nil
  ) {
    self.phaseFraction = phaseFraction
    self.phase = phase
    self.bytes = bytes
    self.totalBytes = totalBytes
    self.items = items
    self.totalItems = totalItems
  }
}

/// What a finished transfer came to.
package struct TransferResult: Equatable, Sendable {
  package let total: Tally
  /// Bytes of DATA bodies that crossed the wire in this run, as many as they were there: holes are none.
  package let sentBytes: UInt64
  /// Bytes that compression kept off the wire in this run.
  package let savedBytes: UInt64
  /// Bytes of content that earlier sessions had brought when the last one began.
  package let heldBytes: UInt64
  /// Seconds from the first byte of data to the last word.
  package let seconds: Double
  /// How many items of the source could not be sent.
  package let unsent: UInt64
  /// What the destination could not hold.
  package let losses: [Done.Loss]
  /// What was left out, since the destination has it or something else of its name.
  package let leftOut: LeftOut
  /// How many items the destination could not hold.
  package let notStored: UInt64
  /// Attributes of the source that are not carried.
  package let leftBehind: [LeftBehind]

  package init(
    total: Tally, sentBytes: UInt64, savedBytes: UInt64 = 0, heldBytes: UInt64, seconds: Double, unsent: UInt64,
    losses: [Done.Loss], leftOut: LeftOut = LeftOut(), notStored: UInt64 = 0, leftBehind: [LeftBehind] = []
  ) {
    self.leftBehind = leftBehind
    self.notStored = notStored
    self.leftOut = leftOut
    self.total = total
    self.sentBytes = sentBytes
    self.savedBytes = savedBytes
    self.heldBytes = heldBytes
    self.seconds = seconds
    self.unsent = unsent
    self.losses = losses
  }
}

/// What the engine has to tell the person or the program that started it.
///
/// Texts and names in events come from the other device as they are; the program that shows them escapes them.
package enum TransferEvent: Sendable {
  /// The receiver can be reached.
  case listening(Listening)
  /// This device can be found on its networks under a name: the label, or what was left of it where another device has that.
  case announced(name: String)
  /// This device cannot be found on its networks, and why: a lower-case clause.
  case unannounced(reason: String)
  /// This process can create and change nothing outside of these directories any more.
  case confined(directories: [[UInt8]])
  /// This process can write wherever its user can, and why: a lower-case clause. The directories are those that a confinement
  /// would have closed to it, if there are any.
  case unconfined(reason: String, directories: [[UInt8]])
  /// A code to show, and for how many seconds it works.
  case code(PairingCode, lifetime: Double)
  /// The code that was given to this device may be entered now, for so many seconds. It is not shown.
  case codeAwaited(lifetime: Double)
  /// A wrong code was entered; how many more are judged before no code is shown any more.
  case wrongCode(attempt: Int, allowed: Int, from: String, left: Int)
  /// So many wrong codes were entered that none is shown any more, and by whom, most first. Either that ends the run, or the
  /// user can begin another wait.
  case codesSpent(count: Int, from: [GuessLimit.Count], isOver: Bool)
  /// The sender looks for receivers in this network.
  case looking
  /// The only receiver that was found, which says that it is called so.
  case found(label: String, address: String)
  /// The sender reaches out.
  case connecting(address: String)
  /// Both devices are sure of each other; the other one's label and address.
  case paired(label: String, address: String)
  /// What is to be transferred, and how much room the destination has (nil at the sender).
  case offer(Offer, availableBytes: UInt64?)
  case progress(TransferProgress)
  /// The connection is lost; the transfer goes on by itself when it can.
  case interrupted(reason: String)
  case resumed(heldBytes: UInt64)
  /// Everything has arrived and agrees.
  case staged
  case importing
  /// Something that is worth knowing and ends nothing; a lower-case clause.
  case notice(String)
  /// An item that could not be sent, or that was left out since something else has its name at the destination.
  case unsent(Unsent)
  /// An item that the destination cannot hold, why, and what its system says of it.
  case notStored(path: [UInt8], reason: RefusalReason, message: String?)
  /// Something arrived under another name, since its own was taken: its path in the archive, and that at the destination.
  case renamed(path: [UInt8], target: [UInt8])
  /// An app's extension wrote a line, on standard error or output.
  case extensionOutput(isError: Bool, line: [UInt8])
  case done(TransferResult)
  /// A transfer has come to nothing, and the run goes on: a receiver that stays tells it.
  case failed(TransferFailure)
}

/// How a transfer ended without being done.
package struct TransferFailure: Error, Equatable, Sendable, CustomStringConvertible {
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
    /// By SIGINT.
    case interrupted = 130
    /// By SIGTERM.
    case terminated = 143
  }

  package let kind: Kind
  /// A complete lower-case clause; parts from the other device are escaped already.
  package let message: String
  /// A sentence that says what to do.
  package let hint: String?
  /// What the message is about, for programs.
  package let subject: Subject

  /// An entry and figures, where there are some. The name may come from the other device as it is.
  package struct Subject: Equatable, Sendable {
    package var name: [UInt8]?
    package var bytes: Close.Space?
    package var items: Close.Space?

    package init(name: [UInt8]? = nil, bytes: Close.Space? = nil, items: Close.Space? = nil) {
      self.name = name
      self.bytes = bytes
      self.items = items
    }
  }

  package init(_ kind: Kind, _ message: String, hint: String? = nil, about subject: Subject = Subject()) {
    self.kind = kind
    self.message = message
    self.hint = hint
    self.subject = subject
  }

  package var description: String { message }
}
