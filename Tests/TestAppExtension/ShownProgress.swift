import AppMigrationKit
import Synchronization

/// The progress of the test extension's import. It is one object that stays, or, if an import
/// requests it, new objects that the host has to read again.
final class ShownProgress: Sendable {
  /// The kind of progress, by the file `behaviour`.
  enum Way: String {
    /// A new object each time, with the counts of the moment.
    case computed = "computed progress"
    /// A new object each time; the import makes its own.
    case made = "made progress"
    /// A new object each time, which never moves.
    case none = "no progress"
  }

  private static let steps: Int64 = 4
  private let stored = Progress(totalUnitCount: 100)
  private let way = Mutex<Way?>(nil)
  private let done = Mutex<Int64>(0)

  var progress: Progress {
    guard let way = way.withLock({ $0 }) else { return stored }
    let progress = Progress(totalUnitCount: Self.steps)
    if way == .computed { progress.completedUnitCount = done.withLock { $0 } }
    return progress
  }

  /// Counts one more imported file, or sets the given hundredths. It has an effect only on the
  /// object that stays.
  func advance(to count: Int64? = nil) {
    guard way.withLock({ $0 == nil }) else { return }
    stored.completedUnitCount = count ?? min(90, stored.completedUnitCount + 10)
  }

  /// Does some steps, each longer than the host's interval.
  func show(_ way: Way) async throws {
    self.way.withLock { $0 = way }
    let own = way == .made ? progress : nil
    for step in 1...Self.steps {
      done.withLock { $0 = step }
      own?.completedUnitCount = step
      try await Task.sleep(for: .milliseconds(400))
    }
  }
}
