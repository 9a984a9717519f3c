import MigrationEngine
import MigrationSystem
import MigrationTLS
package import MigrationWire

/// The reason why a connection is no longer usable.
package struct ConnectionError: Error, Equatable, Sendable, CustomStringConvertible {
  package enum Code: Equatable, Sendable {
    /// The connection was cut, or was never made.
    case lost
    /// The other end has sent close_notify.
    case closed
    /// TLS refused: the certificate, the version, a forged record.
    case refused
    /// The other end has sent more, or more often, than an honest end does (Protocol §11).
    case violated
    /// A deadline passed, this end's or the kernel's.
    case timedOut
    /// This end has stopped.
    case stopped
    /// A message of the other end breaks the protocol.
    case violation(Violation)
    /// One of the ends has ended the pairing with ABORT.
    case aborted(AbortReason)
    /// The other end has sent CLOSE.
    case told(Close)
    /// The proof of a code cannot be computed.
    case unproved
    /// The other device's key is this one, and not the key of the pairing.
    case stranger(KeyFingerprint)
    /// A relay does not join the connection with the other device.
    case relay(RelayRefusal)
  }

  package let code: Code
  /// A lower-case clause.
  package let description: String
  /// Whether the other end has said that another attempt does not help.
  private(set) var isLasting = false
  /// Whether the other end has said ABORT, which gets no answer.
  private(set) var isToldAbort = false
  /// How many senders come first at the other end, if this one has to wait for them; 0 where that is
  /// not told.
  private(set) var place: UInt16?

  package init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }

  init(_ error: SystemError) { self.init(error.isTimedOut ? .timedOut : .lost, error.description) }

  init(_ error: TLSError) { self.init(error.code == .truncated ? .lost : .refused, error.description) }

  package init(_ violation: Violation) { self.init(.violation(violation), violation.description) }

  /// This end says ABORT.
  package init(_ reason: AbortReason) { self.init(.aborted(reason), reason.failure.message) }

  /// The other end has said ABORT.
  init(told reason: AbortReason, _ details: AbortDetails?) {
    self.init(reason)
    isToldAbort = true
    guard case .busy(let wait, let place) = details else { return }
    isLasting = wait == .never
    if wait == .later { self.place = place }
  }

  package init(told close: Close) { self.init(.told(close), Failure(told: close).message) }

  package static func stranger(_ key: KeyFingerprint) -> ConnectionError {
    ConnectionError(.stranger(key), Failure.otherKey.message)
  }

  /// Whether the connection has ended without a message that says why.
  package var isCut: Bool {
    switch code {
    case .lost, .closed, .refused, .timedOut, .stopped, .relay: true
    case .violated, .violation, .aborted, .told, .unproved, .stranger: false
    }
  }

  /// Whether another attempt may succeed, as long as none is spent by it.
  var isPassing: Bool { !isLasting && [.lost, .closed, .timedOut, .aborted(.busy)].contains(code) }
}
