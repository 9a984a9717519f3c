package import MigrationWire

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
        .refused, "the other device is busy",
        hint: "Wait until its transfer is done or fewer devices connect to it, and try again.")
    case .version:
      TransferFailure(
        .failed, "the other device speaks another version of the protocol", hint: "Update peer on both devices.")
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
