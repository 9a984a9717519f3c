import MigrationWire

/// Who the receiver has to do with, and how far its run is.
enum ReceiverPhase: Sendable {
  typealias Outcome = Result<TransferResult, TransferFailure>

  /// What earlier runs left is taken back, and the listening socket opened. Leads to open, engaged, finishing.
  case starting
  /// A sender that knows the code may pair, and one that is remembered may come back. Leads to engaged, finishing.
  case open
  /// A transfer with its newest session, or with an import that no session follows. Leads to engaged, away, finishing.
  case engaged(TransferID, SessionNumber?)
  /// A transfer whose sender is away; how it ends if that stays so until a moment. Leads to engaged, finishing.
  case away(TransferID, until: Double, Outcome)
  /// The run is decided; workers have until a moment to end. Leads to over.
  case finishing(Outcome, until: Double)
  case over

  /// Whether a session or an import goes on, which newcomers must not slow down.
  var isEngaged: Bool { if case .engaged = self { true } else { false } }

  /// The transfer that the receiver has to do with.
  var transfer: TransferID? {
    switch self {
    case .engaged(let transfer, _), .away(let transfer, _, _): transfer
    case .starting, .open, .finishing, .over: nil
    }
  }

  /// The session that acts on it.
  var session: SessionNumber? { if case .engaged(_, let session) = self { session } else { nil } }

  /// Whether the run is decided.
  var isEnding: Bool {
    switch self {
    case .finishing, .over: true
    case .starting, .open, .engaged, .away: false
    }
  }
}
