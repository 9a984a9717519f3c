import MigrationSystem
import Synchronization

/// The bytes that cross the data streams of a transfer in this run, and their time. Several threads
/// count.
///
/// Both ends count the same: the bodies of DATA frames as they travel, and the time from the first
/// of them to the last word.
final class TrafficCount: Sendable {
  private let sentCount = Atomic<UInt64>(0)
  private let savedCount = Atomic<UInt64>(0)
  /// In nanoseconds; 0 while it has not come.
  private let first = Atomic<Int64>(0)
  private let last = Atomic<Int64>(0)

  /// Bytes that crossed the wire.
  var sent: UInt64 { sentCount.load(ordering: .relaxed) }
  /// Bytes that compression kept off the wire.
  var saved: UInt64 { savedCount.load(ordering: .relaxed) }

  /// The seconds from the beginning to the end; 0 where one of them is missing.
  var seconds: Double {
    let (first, last) = (first.load(ordering: .relaxed), last.load(ordering: .relaxed))
    return first > 0 && last > first ? Double(last - first) / 1e9 : 0
  }

  /// So many bytes of DATA bodies have gone out, or come in.
  func add(sent: Int, saved: Int = 0) {
    sentCount.add(UInt64(sent), ordering: .relaxed)
    if saved > 0 { savedCount.add(UInt64(saved), ordering: .relaxed) }
  }

  /// The first byte goes out or comes in, or the archive ends without one. Only the first call
  /// counts.
  func begin() { note(first) }

  /// The last message is said or heard. Later ones do not count.
  func end() { note(last) }

  private func note(_ moment: borrowing Atomic<Int64>) {
    guard moment.load(ordering: .relaxed) == 0 else { return }
    _ = moment.compareExchange(expected: 0, desired: max(1, BootInstant.now().nanoseconds), ordering: .relaxed)
  }
}
