import FoundationEssentials
import MigrationSystem

/// A value of an author's dictionary, of Swift's or Foundation's types, possibly in an optional.
struct ItemValue {
  private let value: Any

  /// Nil for a nil optional.
  init?(_ value: Any) {
    var value = value
    while case let mirror = Mirror(reflecting: value), mirror.displayStyle == .optional {
      guard let child = mirror.children.first else { return nil }
      value = child.value
    }
    self.value = value
  }

  var text: String? { value as? String }
  var bytes: [UInt8]? { (value as? Data).map { Array($0) } }
  var number: Int64? { value as? Int64 ?? (value as? Int).map(Int64.init) }
  var flag: Bool? { value as? Bool }
  var date: Timestamp? { (value as? Date).flatMap { Timestamp(wholeMilliseconds: $0) } }
}

extension Timestamp {
  /// The stored time for a date that the author has read from an item; nil for a date that no item
  /// can have.
  fileprivate init?(wholeMilliseconds date: Date) {
    guard let count = Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded()) else { return nil }
    let seconds = (Double(count) / 1000).rounded(.down)
    self.init(
      seconds: Int64(seconds), nanoseconds: UInt32(clamping: count - Int64(seconds) * 1000) * 1_000_000)
  }
}
