import MigrationWire

/// The phase of the receiver's run, and the transfer that it serves.
enum ReceiverPhase: Sendable {
  typealias Outcome = Result<TransferResult, TransferFailure>

  /// The transfers of earlier runs are being taken back, and the listening socket is being opened.
  /// Leads to open, engaged, finishing.
  case starting
  /// A sender that knows the code may pair, and a known sender may come back. Leads to engaged,
  /// finishing.
  case open
  /// A transfer with its newest session, or with an import that has no session. Leads to engaged,
  /// away, finishing.
  case engaged(TransferID, SessionNumber?)
  /// A transfer whose sender is away, and the outcome if the sender stays away until a moment.
  /// Leads to engaged, finishing.
  case away(TransferID, until: Double, Outcome)
  /// The outcome is decided; workers have until a moment to end. Leads to over.
  case finishing(Outcome, until: Double)
  case over

  /// Whether a session or an import is running, which new connections must not slow down.
  var isEngaged: Bool { if case .engaged = self { true } else { false } }

  /// The transfer that the receiver serves.
  var transfer: TransferID? {
    switch self {
    case .engaged(let transfer, _), .away(let transfer, _, _): transfer
    case .starting, .open, .finishing, .over: nil
    }
  }

  /// The session that acts on the transfer.
  var session: SessionNumber? { if case .engaged(_, let session) = self { session } else { nil } }

  /// Whether the outcome of the run is decided.
  var isEnding: Bool {
    switch self {
    case .finishing, .over: true
    case .starting, .open, .engaged, .away: false
    }
  }
}
