import AppMigrationKit
import Synchronization

/// How the test extension shows its import's progress: as one object that stays, or, once an import wants that, in the ways that
/// need to be asked for again.
final class ShownProgress: Sendable {
  /// What it does, by the file `behaviour`.
  enum Way: String {
    /// A new object each time, with what is done at the time.
    case computed = "computed progress"
    /// A new object each time; the import makes its own.
    case made = "made progress"
    /// A new object each time, and none that moves.
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

  /// One file more has been imported, or so many hundredths are done; seen only where one object stays.
  func advance(to count: Int64? = nil) {
    guard way.withLock({ $0 == nil }) else { return }
    stored.completedUnitCount = count ?? min(90, stored.completedUnitCount + 10)
  }

  /// Does some steps, each for longer than the host takes to look.
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
