import MigrationWire

extension ReceiverEngine {
  /// The phase of the receiver's run.
  enum Phase: Sendable {
    /// A transfer that the receiver serves.
    enum ServedTransfer: Sendable {
      /// With its newest session, or with an import that has no session.
      case engaged(TransferID, SessionNumber?)
      /// Its sender is away, and this is the outcome if it stays away until a moment.
      case away(TransferID, until: Double, TransferOutcome)

      var transfer: TransferID {
        switch self {
        case .engaged(let transfer, _), .away(let transfer, _, _): transfer
        }
      }

      /// The session that acts on the transfer.
      var session: SessionNumber? { if case .engaged(_, let session) = self { session } else { nil } }

      var isEngaged: Bool { if case .engaged = self { true } else { false } }
    }

    /// The transfers of earlier runs are being taken back, and the listening socket is being opened.
    /// Leads to serving, finishing.
    case starting
    /// The served transfers, the one of the newest session last. While there are not as many as may
    /// be, a sender that knows the code may pair, and a known sender may come back. Leads to finishing.
    case serving([ServedTransfer])
    /// The outcome is decided; workers have until a moment to end. Leads to over.
    case finishing(TransferOutcome, until: Double)
    case over

    /// No transfer is served.
    static let open = Phase.serving([])

    var served: [ServedTransfer] { if case .serving(let served) = self { served } else { [] } }

    /// How many transfers have a running session or import.
    var engaged: Int { served.count(where: \.isEngaged) }

    /// Whether a session or an import is running, which new connections must not slow down.
    var isEngaged: Bool { engaged > 0 }

    /// The sessions that act on the served transfers.
    var sessions: [SessionNumber] { served.compactMap(\.session) }

    /// A transfer, where it is served.
    subscript(transfer: TransferID) -> ServedTransfer? { served.first { $0.transfer == transfer } }

    /// The transfer on which a session acts.
    subscript(session: SessionNumber) -> ServedTransfer? { served.first { $0.session == session } }

    /// Removes the transfers that a condition names.
    mutating func leave(where isLeft: (ServedTransfer) -> Bool) {
      if case .serving(let served) = self { self = .serving(served.filter { !isLeft($0) }) }
    }

    /// Serves a transfer, which replaces its session's earlier transfer. If `most` others are
    /// served, it replaces a transfer whose sender is away, or else the first.
    mutating func serve(_ place: ServedTransfer, atMost most: Int) {
      guard case .serving(var served) = self else { return }
      served.removeAll { $0.transfer == place.transfer || $0.session != nil && $0.session == place.session }
      if served.count >= most { served.remove(at: served.firstIndex { !$0.isEngaged } ?? 0) }
      self = .serving(served + [place])
    }

    /// Whether the outcome of the run is decided.
    var isEnding: Bool {
      switch self {
      case .finishing, .over: true
      case .starting, .serving: false
      }
    }
  }
}
