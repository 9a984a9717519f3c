import MigrationSystem
import MigrationTLS
import MigrationWire

/// Bounds the bytes that the other end may send on one connection before READY, and its records
/// without plaintext (Protocol §11).
struct ReadBound {
  /// How many records without plaintext may come within a second.
  static let silentRecords = 64

  /// How many bytes of ciphertext may still be taken before READY; nil behind it.
  private var beforeReady: Int? = Limits.beforeReady + Limits.tlsRecord
  /// How many records without plaintext had come by the last look.
  private var seen = 0
  /// When the second began in which they are counted, and how many there were before it.
  private var second: (start: BootInstant, before: Int)?

  /// READY was said or heard.
  mutating func passReady() { beforeReady = nil }

  /// How many bytes may be taken from the socket now.
  func room(_ space: Int) throws(ConnectionError) -> Int {
    guard let beforeReady else { return space }
    guard beforeReady > 0 else {
      throw ConnectionError(.violated, "the other device sent too much before both were sure of each other")
    }
    return min(space, beforeReady)
  }

  /// So many bytes were taken from the socket.
  mutating func took(_ count: Int) {
    if let rest = beforeReady { beforeReady = rest - count }
  }

  /// Fails when the other end renews its key before READY, or sends too many records that bring
  /// nothing.
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
