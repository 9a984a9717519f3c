import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
package import MigrationWire
import Synchronization

extension TransferKeys {
  /// A fresh key for a new transfer.
  static func random() -> TransferKeys {
    TransferKeys(hashKey: .randomIdentifier())
  }
}

extension UInt128 {
  /// 16 bytes from the library's generator.
  static func randomIdentifier() -> UInt128 {
    randomBytes(16).reduce(0) { $0 << 8 | UInt128($1) }
  }
}

extension PairingCode {
  /// A code that no other program knows.
  package static func random() -> PairingCode { PairingCode(number: UInt32(randomSevenDigitNumber())) }

  /// Computes the secret of the code, slowly. Leaves no text of the code.
  func stretched() throws(TLSError) -> PairingSecret {
    var digits = digits
    defer { cleanse(&digits) }
    return try PairingSecret.scalar(fromDigits: digits)
  }
}

extension Features {
  /// This device's features: zstd where it has the library.
  static let ofThisDevice: Features = Zstandard.isAvailable ? [.zstd, .ways] : .ways
}

/// The bytes that cross the data streams of a transfer in this run, and their time. Several threads
/// count.
///
/// Both ends count the same: the bodies of DATA frames in their compressed size, and the time from
/// the first of them to the last message.
final class TrafficCount: Sendable {
  private let sentCount = Atomic<UInt64>(0)
  private let savedCount = Atomic<UInt64>(0)
  /// In nanoseconds; 0 before the event.
  private let first = Atomic<Int64>(0)
  private let last = Atomic<Int64>(0)

  /// The present counts.
  var amount: Traffic {
    let (first, last) = (first.load(ordering: .relaxed), last.load(ordering: .relaxed))
    return Traffic(
      sent: sentCount.load(ordering: .relaxed), saved: savedCount.load(ordering: .relaxed),
      seconds: first > 0 && last > first ? Double(last - first) / 1e9 : 0)
  }

  /// Counts bytes of DATA bodies, and the bytes that compression saved.
  func add(sent: Int, saved: Int = 0) {
    sentCount.add(UInt64(sent), ordering: .relaxed)
    if saved > 0 { savedCount.add(UInt64(saved), ordering: .relaxed) }
  }

  /// Notes the time of the first byte, or of an archive's end without a byte. Only the first call
  /// counts.
  func begin() {
    guard first.load(ordering: .relaxed) == 0 else { return }
    _ = first.compareExchange(expected: 0, desired: max(1, BootInstant.now().nanoseconds), ordering: .relaxed)
  }

  /// Notes the time of the last message so far.
  func end() { last.store(BootInstant.now().nanoseconds, ordering: .relaxed) }
}
