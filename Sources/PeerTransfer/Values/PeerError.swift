package import MigrationEngine

/// Why a transfer, or a wait for one, ended without being done.
public struct PeerError: Error, Equatable, Sendable {
  /// The kinds of failure. The raw value is what the command `peer` ends with.
  public enum Kind: Int32, Sendable, CaseIterable {
    /// Something failed, here or on the other device; where it was a disk, what has arrived is kept.
    case failed = 1
    /// What was asked for makes no sense, or a source is not there.
    case usage = 2
    /// The devices are not sure of each other: no code, a wrong one, or another device.
    case pairing = 3
    /// The other device refused, or the destination or the place where transfers are remembered is not fit.
    case refused = 4
    /// The other device cannot be reached, the connection was lost and did not come back, or the other device's user stopped.
    case connectionLost = 5
    /// There is not enough space at the destination.
    case noSpace = 6
    /// Everything has arrived, but could not be put in place.
    case importFailed = 7
    /// The source could not be read to its end.
    case exportFailed = 9
    /// The task was cancelled.
    case interrupted = 130
  }

  /// What kind of failure it is.
  public let kind: Kind
  /// The cause, as a lower-case clause that can be shown; what came from the other device is escaped in it.
  public let message: String
  /// A sentence that says what to do, where something can be done. It speaks to the user of a device, and names options as the
  /// command `peer` has them, `--existing` say; those of this library have the same names.
  public let hint: String?

  package init(_ kind: Kind, _ message: String, hint: String? = nil) {
    self.kind = kind
    self.message = message
    self.hint = hint
  }

  package init(_ failure: TransferFailure) {
    self.init(Kind(failure.kind), failure.message, hint: failure.hint)
  }

  /// What the command ends with by such a failure.
  public var exitCode: Int32 { kind.rawValue }
}

extension PeerError: CustomStringConvertible {
  public var description: String { message }
}

extension PeerError.Kind {
  init(_ kind: TransferFailure.Kind) {
    self =
      switch kind {
      case .failed: .failed
      case .usage: .usage
      case .pairing: .pairing
      case .refused: .refused
      case .connectionLost: .connectionLost
      case .noSpace: .noSpace
      case .importFailed: .importFailed
      case .exportFailed: .exportFailed
      case .interrupted, .terminated: .interrupted
      }
  }
}
