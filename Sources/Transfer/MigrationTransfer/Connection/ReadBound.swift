import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

extension Connection {
  /// Limits the bytes that the other end may send on one connection before READY, and its records
  /// without plaintext (Protocol §11).
  struct ReadBound {
    /// How many records without plaintext may come within a second.
    static let silentRecords = 64

    /// The number of ciphertext bytes that may still arrive before READY; nil after READY.
    private var beforeReady: Int? = Limits.beforeReady + Limits.tlsRecord
    /// The number of records without plaintext at the last check.
    private var seen = 0
    /// The beginning of the second in which they are counted, and their number before it.
    private var second: (start: BootInstant, before: Int)?

    /// READY was sent or received.
    mutating func passReady() { beforeReady = nil }

    /// The number of bytes that may be read from the socket now.
    func room(_ space: Int) throws(ConnectionError) -> Int {
      guard let beforeReady else { return space }
      guard beforeReady > 0 else {
        throw ConnectionError(.violated, "the other device sent too much before both were sure of each other")
      }
      return min(space, beforeReady)
    }

    /// Bytes were read from the socket.
    mutating func took(_ count: Int) {
      if let rest = beforeReady { beforeReady = rest - count }
    }

    /// Fails when the other end renews its key before READY, or sends too many records without
    /// plaintext.
    mutating func check(_ silent: SilentTally, now: BootInstant) throws(ConnectionError) {
      if beforeReady != nil, silent.keyUpdates > 0 {
        throw ConnectionError(.violated, "the other device renewed its key before both were sure of each other")
      }
      guard silent.records > seen else { return }
      let current: (start: BootInstant, before: Int)
      if let second, now < second.start.advanced(by: .seconds(1)) { current = second } else { current = (now, seen) }
      second = current
      seen = silent.records
      guard seen - current.before <= Self.silentRecords else {
        throw ConnectionError(.violated, "the other device sends without saying anything")
      }
    }
  }
}
