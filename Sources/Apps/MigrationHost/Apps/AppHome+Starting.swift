import MigrationSystem
package import MigrationWire

extension AppHome {
  /// An app with consistent data, locked for running.
  package struct Started: Sendable {
    package let app: InstalledApp
    /// The lock for the app's process.
    package let lock: AppLock
    /// Whether an interrupted import had to be undone first.
    package let hasUndoneImport: Bool
    /// The requested clip, if this is the app that has replaced it.
    package var replacedClip: String?
  }

  /// How often an import may be interrupted while the app is being started.
  private static let mostTries = 5

  /// Makes an app's data consistent and locks it, so that the app can be started. For a clip that
  /// its app has replaced, starts the app.
  package func start(_ identifier: String) throws(Failure) -> Started {
    do {
      return try startItself(identifier)
    } catch {
      guard error.code == .notInstalled, let app = try successor(of: identifier) else { throw error }
      var started = try startItself(app.identifier)
      started.replacedClip = identifier
      return started
    }
  }

  private func startItself(_ identifier: String) throws(Failure) -> Started {
    var hasUndoneImport = false
    for _ in 0..<Self.mostTries {
      if try app(identifier).isUnsettled {
        let (app, lock) = try app(identifier, for: .migrating)
        defer { withExtendedLifetime(lock) {} }
        if try app.settle() { hasUndoneImport = true }
      }
      // Between the two locks another migration may have begun and died.
      let (app, lock) = try app(identifier, for: .running)
      guard try !app.isUnsettled else { continue }
      try app.prepareContainer()
      return Started(app: app, lock: lock, hasUndoneImport: hasUndoneImport)
    }
    throw Failure(
      .appInUse, "the data of \(identifier) is being migrated repeatedly", hint: "Wait until that is done.",
      name: Array(identifier.utf8))
  }
}

extension InstalledApp {
  /// Counts a start of the app. Returns whether this is the start at which the author should learn
  /// that the app has not cleared the result of its last import. A failure to count does not
  /// prevent the start.
  package func countStart() -> Bool {
    guard let record = importRecord else {
      try? files.remove(starts)
      return false
    }
    var count = StartCount(of: record, from: (try? files.read(starts, limit: 1 << 10)) ?? nil)
    // Each of them is written durably, and no further notice is due.
    guard count.number < StartCount.remarkable else { return false }
    count.increment()
    guard (try? files.write(starts, count.encoded)) != nil else { return false }
    return count.number == StartCount.remarkable
  }

  /// How often an app was started while the record of its last import was kept, up to the start at
  /// which a notice is due: a file next to the record. It names its record; with another record
  /// counting begins anew, and without a record the file is removed.
  struct StartCount: Equatable {
    /// The start at which a notice says that the app has not cleared the record.
    static let remarkable = 3

    /// The record, by its transfer and its date.
    private let record: String
    private(set) var number: Int

    /// The starts after an import with this result; the file's content counts if it is about this
    /// record.
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
}
