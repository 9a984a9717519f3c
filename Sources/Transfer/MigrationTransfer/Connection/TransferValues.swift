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
  static let ofThisDevice: Features = Zstandard.isAvailable ? [.zstd, .addresses, .bases] : [.addresses, .bases]
}

/// The bytes that cross the data streams of a transfer in this run, and their time. Several threads
/// count.
///
/// Both ends count the same: the bodies of DATA frames in their compressed size, and the time from
/// the first of them to the last message.
final class TrafficCount: Sendable {
  private let sentCount = Atomic<UInt64>(0)
  private let savedCount = Atomic<UInt64>(0)
  /// The newest part, and the bytes of those before it. One thread at a time begins a part.
  private let part = Atomic<UInt16>(0)
  private let beforePart = Atomic<UInt64>(0)
  /// In nanoseconds; 0 before the event.
  private let first = Atomic<Int64>(0)
  private let last = Atomic<Int64>(0)

  /// The present counts.
  var amount: Traffic {
    let (first, last) = (first.load(ordering: .relaxed), last.load(ordering: .relaxed))
    let sent = sentCount.load(ordering: .relaxed)
    return Traffic(
      sent: sent, saved: savedCount.load(ordering: .relaxed), ofPart: sent - beforePart.load(ordering: .relaxed),
      seconds: first > 0 && last > first ? Double(last - first) / 1e9 : 0)
  }

  /// Counts bytes of DATA bodies, and the bytes that compression saved.
  func add(sent: Int, saved: Int = 0) {
    sentCount.add(UInt64(sent), ordering: .relaxed)
    if saved > 0 { savedCount.add(UInt64(saved), ordering: .relaxed) }
  }

  /// Another part begins, or the same one continues: everything of the one before has crossed.
  func begin(_ number: UInt16) {
    guard part.exchange(number, ordering: .relaxed) != number else { return }
    beforePart.store(sentCount.load(ordering: .relaxed), ordering: .relaxed)
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
