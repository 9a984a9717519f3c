import COpenSSL
import MigrationWire
import TestSupport

@testable import MigrationTLS
@testable import MigrationTransfer

extension Connection {
  /// Renews the sending key so often, with nothing between, as this program never does; fails when
  /// the other end is gone.
  mutating func renewKey(times: Int) throws {
    for _ in 0..<times {
      session.withPointer { pointer in
        SSL_key_update(pointer, SSL_KEY_UPDATE_NOT_REQUESTED)
        // Sends only the pending bytes.
        SSL_do_handshake(pointer)
      }
      if session.pendingOutput > 128 << 10 { try writeAll([], until: soon()) }
    }
    try writeAll([], until: soon())
  }

  /// Reads until the other end has nothing more to say; the reason that it gave before READY, if it
  /// gave one.
  mutating func lastWord() -> AbortReason? {
    do throws(ConnectionError) {
      while true { _ = try pairingFrame(until: soon()) }
    } catch {
      return error.reason
    }
  }
}
