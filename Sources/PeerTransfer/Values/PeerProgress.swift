package import MigrationEngine

/// How far a transfer is, over all of it: what an earlier session brought is included.
public struct PeerProgress: Equatable, Sendable {
  /// What a part of a transfer is called on both sides.
  public enum Phase: String, Sendable, CaseIterable {
    /// The devices become sure of each other.
    case pairing
    /// The receiver looks at what is offered, or at what it holds of it.
    case checking
    /// Data goes out.
    case sending
    /// Data comes in.
    case receiving
    /// All has come, and is compared with what the sender meant.
    case verifying
    /// What has come is put in place.
    case importing
  }

  public let phase: Phase
  public let bytes: UInt64
  /// Nil where an app's data has become more than its exporter had estimated.
  public let totalBytes: UInt64?
  public let items: UInt64
  public let totalItems: UInt64
  /// How much of the phase itself is done, from 0 to 1, where that is something else than what has arrived.
  public let phaseFraction: Double?

  package init(_ progress: TransferProgress) {
    phase = Phase(progress.phase)
    bytes = progress.bytes
    totalBytes = progress.totalBytes
    items = progress.items
    totalItems = progress.totalItems
    phaseFraction = progress.phaseFraction
  }
}

extension PeerProgress.Phase {
  init(_ phase: TransferPhase) {
    self =
      switch phase {
      case .pairing: .pairing
      case .checking: .checking
      case .sending: .sending
      case .receiving: .receiving
      case .verifying: .verifying
      case .importing: .importing
      }
  }
}
