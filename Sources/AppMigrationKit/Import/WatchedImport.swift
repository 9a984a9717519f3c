internal import MigrationHost
internal import Synchronization

/// An import whose progress is looked at again and again; Foundation on Linux does not tell of changes.
///
/// Authors show it in several ways. The property returns one progress that moves; or a new one each time, with the counts of
/// that moment; or a new one each time, of which the import moves the one that was kept when it began; or a new one each time
/// that nothing ever moves, while the import makes its own where it begins. So all of them are looked at, and what was seen never
/// goes back. A property that returns the same one each time is its author's word, whatever else the import makes.
final class WatchedImport: Sendable {
  private struct Sight {
    /// What the property returned before the import began, and what it returned last.
    let first: Returned
    var newest: Returned
    /// Whether it has returned more than one, and so none that has to move.
    var isMade = false
    var shown: UInt32 = 0
  }

  /// A progress that the property returned.
  private struct Returned {
    let progress: Progress
    /// How far it was then.
    let beginning: UInt32

    init(_ progress: Progress) {
      self.progress = progress
      beginning = progress.millionths
    }

    var hasMoved: Bool { progress.millionths != beginning }
  }

  private static let interval = Duration.milliseconds(100)
  /// An import that shows nothing for so long leaves its user without a word.
  private static let patience = Duration.seconds(2)

  private let importer: any ResourcesImporting
  private let made = MadeProgress()
  private let sight: Mutex<Sight>

  /// Asks for the progress for the first time.
  init(_ importer: any ResourcesImporting) {
    self.importer = importer
    let first = Returned(importer.resourcesImportProgress)
    sight = Mutex(Sight(first: first, newest: first))
  }

  /// Imports, and meanwhile reports whenever more is done, in millionths; nothing is reported after it returns. What the author
  /// should know of it, if the import succeeds.
  func run(
    at directory: URL, _ request: ResourcesImportRequest, report: @escaping @Sendable (UInt32) -> Void
  ) async throws -> ExtensionNotice? {
    let start = ContinuousClock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await self.watch(report) }
      // Its threads hear of the progress that the import makes; that of the property's getter is none of it.
      try await withTaskExecutorPreference(ImportExecutor(made)) {
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

  /// How much is done, as far as can be seen.
  private func look() -> UInt32 {
    let (first, newest) = sight.withLock { ($0.first, $0.newest) }
    // One that moves is the one to look at: an author who makes and keeps a new one at each question would lose it by another.
    if !first.hasMoved, !newest.hasMoved {
      let next = Returned(importer.resourcesImportProgress)
      if next.progress !== newest.progress {
        sight.withLock { sight in
          sight.newest = next
          // Where the author wants nothing to be shown, nothing is.
          if !(next.progress is NoProgress) { sight.isMade = true }
        }
      }
    }
    return sight.withLock { sight in
      var now = max(sight.first.progress.millionths, sight.newest.progress.millionths)
      // What the import makes may be a part of the property's progress, and is over before that.
      if now == 0, sight.isMade { now = made.share }
      sight.shown = max(sight.shown, now)
      return sight.shown
    }
  }

  /// Said only where something is certainly wrong, or a user had to wait.
  private func notice(after time: Duration) -> ExtensionNotice? {
    guard look() == 0 else { return nil }
    return sight.withLock { sight in
      // The author wants none to be shown, or there was nothing to import.
      let newest = sight.newest.progress
      if newest is NoProgress || newest.totalUnitCount <= 0 { return nil }
      return sight.isMade || time >= Self.patience ? .unmovedProgress : nil
    }
  }
}

/// What an extension returns whose author does not show how far the import is. Unchecked, as Foundation says of `Progress`; nothing
/// is added here.
final class NoProgress: Progress, @unchecked Sendable {}

extension Progress {
  /// How much is done; what has no total yet, is no number, or is beyond the whole, is not believed.
  var millionths: UInt32 {
    guard totalUnitCount > 0 else { return 0 }
    let fraction = fractionCompleted
    return fraction > 0 ? UInt32(min(fraction, 1) * 1_000_000) : 0
  }
}
