import Glibc
import MigrationSystem
import MigrationWire
import TestSupport

@testable import MigrationTransfer

/// A client that has exchanged shares, as soon as its address has no delay by other guesses, and
/// the confirmation that its code makes right.
struct PairingExchange: ~Copyable {
  var client: StrangeClient
  let right: (confirmA: [UInt8], confirmB: [UInt8])

  init(_ port: UInt16, _ code: PairingCode, from host: String? = nil) throws {
    let deadline = soon()
    while true {
      var client = try StrangeClient(port: port, from: host)
      do {
        let right = try client.exchangeShares(code)
        self.client = client
        self.right = right
        return
      } catch let error as ConnectionError where error.reason == .busy && BootInstant.now() < deadline {
        sched_yield()
      }
    }
  }

  /// Sends the confirmation that is right; the refusal, nil when it was taken.
  mutating func prove() throws -> AbortReason? { try client.confirm(right.confirmA) }

  /// Sends one that is wrong; the refusal, nil when it was taken.
  mutating func err() throws -> AbortReason? { try client.confirm([UInt8](repeating: 0, count: 32)) }
}

extension ConnectionError {
  /// The reason of an ABORT.
  var reason: AbortReason? { if case .aborted(let reason) = code { reason } else { nil } }
}
