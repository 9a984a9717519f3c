internal import MigrationHost
internal import MigrationSystem

/// An import whose progress is polled, since Foundation on Linux does not report changes.
///
/// Authors show progress in several ways. The property may return one progress that moves. It may
/// return a new one each time, with the counts of that moment. It may return a new one each time,
/// of which the import moves the object that it kept at its beginning. Or it returns new ones that
/// never move, while the import makes its own progress at its beginning. This type therefore looks
/// at all of them, and the shown fraction never decreases. If the property returns the same object
/// each time, no other progress of the import counts.
final class WatchedImport: Sendable {
  private struct Sight {
    /// The object that the property returned before the import began, and the last one.
    let first: Returned
    var newest: Returned
    /// Whether the property has returned more than one object; then none of them has to move.
    var isMade = false
    var shown: UInt32 = 0
  }

  private struct Returned {
    let progress: Progress
    /// Its fraction at that time.
    let beginning: UInt32

    init(_ progress: Progress) {
      self.progress = progress
      beginning = progress.millionths
    }

    var hasMoved: Bool { progress.millionths != beginning }
  }

  private static let interval = Duration.milliseconds(100)
  /// The time after which an import without visible progress gets a notice.
  private static let patience = Duration.seconds(2)

  private let importer: any ResourcesImporting
  private let made = MadeProgress()
  private let sight: Mutex<Sight>

  /// Reads the progress for the first time.
  init(_ importer: any ResourcesImporting) {
    self.importer = importer
    let first = Returned(importer.resourcesImportProgress)
    sight = Mutex(Sight(first: first, newest: first))
  }

  /// Imports, and reports each increase in millionths; it reports nothing after it returns. Returns
  /// a notice for the author, if the import succeeds.
  func run(
    at directory: URL, _ request: ResourcesImportRequest, report: @escaping @Sendable (UInt32) -> Void
  ) async throws -> ExtensionNotice? {
    let start = ContinuousClock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await self.watch(report) }
      // Its threads observe the progress that the import makes, but not the progress of the
      // property's getter.
      try await withTaskExecutorPreference(BlockingExecutor { [made] in made.hear($0) }) {
        try await self.importer.importResources(at: directory, request: request)
      }
      group.cancelAll()
    }
    return notice(after: start.duration(to: .now))
  }

  private func watch(_ report: (UInt32) -> Void) async {
    var last: UInt32 = 0
    while (try? await Task.sleep(for: Self.interval)) != nil {
      let now = look()
      if now > last { report(now) }
      last = now
    }
  }

  /// The visible fraction of the import.
  private func look() -> UInt32 {
    let (first, newest) = sight.withLock { ($0.first, $0.newest) }
    // A progress that moves is the right one. Reading the property again would replace it, if the
    // author makes and keeps a new object at each read.
    if !first.hasMoved, !newest.hasMoved {
      let next = Returned(importer.resourcesImportProgress)
      if next.progress !== newest.progress {
        sight.withLock { sight in
          sight.newest = next
          // If the author shows no progress, neither does the system.
          if !(next.progress is NoProgress) { sight.isMade = true }
        }
      }
    }
    return sight.withLock { sight in
      var now = max(sight.first.progress.millionths, sight.newest.progress.millionths)
      // The import's own progress may be a part of the property's progress, and may end before it.
      if now == 0, sight.isMade { now = made.share }
      sight.shown = max(sight.shown, now)
      return sight.shown
    }
  }

  /// Returns a notice only if there is certainly an error, or if a user had to wait.
  private func notice(after time: Duration) -> ExtensionNotice? {
    guard look() == 0 else { return nil }
    return sight.withLock { sight in
      // The author shows no progress, or there was no data to import.
      let newest = sight.newest.progress
      if newest is NoProgress || newest.totalUnitCount <= 0 { return nil }
      return sight.isMade || time >= Self.patience ? .unmovedProgress : nil
    }
  }

  /// Observes the progress that an import makes. It is the current progress on the import's threads
  /// while the author's code runs there, so that a new `Progress(totalUnitCount:)` becomes its child.
  ///
  /// It remembers the child and does not adopt it, since the author may want to add it to another
  /// progress. The first child counts.
  final class MadeProgress: Progress, @unchecked Sendable {
    // Progress itself is declared safe to use everywhere; the member that is added here has a lock.
    private let first = Mutex<Progress?>(nil)

    /// Makes a progress that is not a child of the current one. Only this module calls it.
    init() { super.init(parent: nil) }

    /// The fraction of the import's own progress; zero before there is one.
    var share: UInt32 { first.withLock { $0 }?.millionths ?? 0 }

    /// Runs a piece of the import. It does not suspend: later code on this thread is not part of the
    /// import.
    func hear(_ body: () -> Void) {
      guard first.withLock({ $0 == nil }) else { return body() }
      becomeCurrent(withPendingUnitCount: 0)
      body()
      resignCurrent()
    }

    override func addChild(_ child: Progress, withPendingUnitCount count: Int64) {
      first.withLock { first in
        if first == nil { first = child }
      }
    }
  }

  /// The progress of an extension whose author shows none. It is unchecked, like `Progress` in
  /// Foundation; this class adds nothing.
  final class NoProgress: Progress, @unchecked Sendable {}
}

extension Progress {
  /// The completed fraction in millionths. It is zero without a total or without a valid number,
  /// and never more than the whole.
  var millionths: UInt32 {
    guard totalUnitCount > 0 else { return 0 }
    let fraction = fractionCompleted
    return fraction > 0 ? UInt32(min(fraction, 1) * 1_000_000) : 0
  }
}
