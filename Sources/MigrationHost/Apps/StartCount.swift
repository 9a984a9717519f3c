import MigrationSystem

/// How often an app was started while the record of its last import was kept, up to the start at which that is remarkable: a
/// file beside the record. It names the record that it is about; with another one counting begins anew, and without one it goes.
struct StartCount: Equatable {
  /// At which start it is said that the app has not cleared the record.
  static let remarkable = 3

  /// The record, by its transfer and its date.
  private let record: String
  private(set) var number: Int

  /// Of the starts after an import that ended so; what a file says counts if it is about that.
  init(of record: ImportRecord, from bytes: [UInt8]?) {
    self.record = "\(record.transfer ?? "-") \(record.date)"
    let words = String(decoding: bytes ?? [], as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
    number =
      words.count == 3 && words[..<2].joined(separator: " ") == self.record
      ? min(max(0, Int(words[2]) ?? 0), Self.remarkable) : 0
  }

  mutating func increment() { number += 1 }

  var encoded: [UInt8] { Array("\(record) \(number)\n".utf8) }
}

extension InstalledApp {
  /// Counts a start of the app; whether it is the one at which its author should hear that the app has not cleared how its last
  /// import ended. That it was not counted keeps no app from starting.
  package func countStart() -> Bool {
    guard let record = importRecord else {
      try? files.remove(starts)
      return false
    }
    var count = StartCount(of: record, from: (try? files.read(starts, limit: 1 << 10)) ?? nil)
    // Each of them is written durably, and there is nothing more to say.
    guard count.number < StartCount.remarkable else { return false }
    count.increment()
    guard (try? files.write(starts, count.encoded)) != nil else { return false }
    return count.number == StartCount.remarkable
  }
}
