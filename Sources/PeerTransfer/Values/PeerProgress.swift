package import MigrationEngine

/// The progress of a whole transfer, including the data of earlier sessions.
public struct PeerProgress: Equatable, Sendable {
  /// A part of a transfer, with the same name on both sides.
  public enum Phase: String, Sendable, CaseIterable {
    /// The devices authenticate each other.
    case pairing
    /// The receiver checks the offer, or the data that it has already.
    case checking
    /// Data is sent.
    case sending
    /// Data is received.
    case receiving
    /// All data has arrived, and is compared with the sender's.
    case verifying
    /// The data is put in place.
    case importing
  }

  public let phase: Phase
  public let bytes: UInt64
  /// Nil if an app's data is larger than its exporter's estimate.
  public let totalBytes: UInt64?
  public let items: UInt64
  public let totalItems: UInt64
  /// The progress of the phase itself, from 0 to 1, if it differs from the share of received data.
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
