package import MigrationEngine

/// The failure of a transfer, or of the wait for one.
public struct PeerError: Error, Equatable, Sendable {
  /// The kinds of failure. The raw value is the exit code of the command `peer`.
  public enum Kind: Int32, Sendable, CaseIterable {
    /// A failure here or on the other device; after a disk error, the received data is kept.
    case failed = 1
    /// The request is invalid, or a source does not exist.
    case usage = 2
    /// The devices are not paired: no code, a wrong code, or another device.
    case pairing = 3
    /// The other device refused, or the destination or the directory for unfinished transfers
    /// cannot be used.
    case refused = 4
    /// The other device cannot be reached, the connection was lost and did not return, or the other
    /// device's user interrupted the transfer.
    case connectionLost = 5
    /// There is not enough space at the destination.
    case noSpace = 6
    /// All data has arrived, but could not be put in place.
    case importFailed = 7
    /// The source could not be read completely.
    case exportFailed = 9
    /// The other device serves others first.
    case busy = 10
    /// The task was cancelled.
    case interrupted = 130
  }

  /// The kind of failure.
  public let kind: Kind
  /// The cause, as a lower-case clause that is safe to show: text from the other device is escaped.
  public let message: String
  /// A sentence that tells what to do, if anything can be done. It is for the user of a device, and
  /// names options of the command `peer`, such as `--existing`; the options of this library have
  /// the same names.
  public let hint: String?

  package init(_ kind: Kind, _ message: String, hint: String? = nil) {
    self.kind = kind
    self.message = message
    self.hint = hint
  }

  package init(_ failure: TransferFailure) {
    // The kinds have the same numbers, but for the signals, of which a program has none.
    self.init(Kind(rawValue: failure.kind.rawValue) ?? .interrupted, failure.message, hint: failure.hint)
  }

  /// The exit code of the command after such a failure.
  public var exitCode: Int32 { kind.rawValue }
}

extension PeerError: CustomStringConvertible {
  public var description: String { message }
}
