import Expectations
import MigrationHost
import MigrationSystem
import TestSupport
import Testing

@testable import AppMigrationKit

/// The progress of an import, in the forms in which authors show it.
@Suite struct ImportProgressTests {
  private let scratch: Scratch

  init() throws { scratch = try Scratch.withContainer() }

  /// The state that a test shares with its importer.
  final class Work: Sendable {
    let done = Mutex<Int64>(0)
    let asked = Mutex(0)
    private let steps: AsyncStream<Void>
    private let next: AsyncStream<Void>.Continuation

    init() { (steps, next) = AsyncStream.makeStream() }

    func step() { next.yield() }
    func await() async { for await _ in steps { return } }
  }

  /// Its property makes a progress from the counts of the moment.
  struct Counting: ResourcesImporting {
    @TaskLocal static var work = Work()
    var resourcesImportProgress: Progress {
      Self.work.asked.withLock { $0 += 1 }
      let progress = Progress(totalUnitCount: 4)
      progress.completedUnitCount = Self.work.done.withLock { $0 }
      return progress
    }
    func importResources(at url: URL, request: ResourcesImportRequest) async throws {
      for count in 1...4 as ClosedRange<Int64> {
        Self.work.done.withLock { $0 = count }
        await Self.work.await()
      }
    }
  }

  /// Its property makes a new progress each time, and the import makes its own at its beginning.
  struct Making: ResourcesImporting {
    @TaskLocal static var work = Work()
    var resourcesImportProgress: Progress { Progress(totalUnitCount: 4) }
    func importResources(at url: URL, request: ResourcesImportRequest) async throws {
      let progress = resourcesImportProgress
      for count in 1...4 as ClosedRange<Int64> {
        progress.completedUnitCount = count
        await Self.work.await()
      }
    }
  }

  /// Its property makes a new progress each time and keeps it, and the import moves the kept
  /// progress.
  final class Keeping: ResourcesImporting {
    @TaskLocal static var work = Work()
    private let kept = Mutex(Progress(totalUnitCount: 4))
    init() {}
    var resourcesImportProgress: Progress {
      kept.withLock { kept in
        kept = Progress(totalUnitCount: 4)
        return kept
      }
    }
    func importResources(at url: URL, request: ResourcesImportRequest) async throws {
      for _ in 1...4 {
        kept.withLock { $0.completedUnitCount += 1 }
        await Self.work.await()
      }
    }
  }

  /// Its property makes a new progress each time and keeps it. The import moves the progress that
  /// is kept at its beginning.
  final class Taking: ResourcesImporting {
    @TaskLocal static var work = Work()
    private let kept = Mutex<Progress?>(nil)
    init() {}
    var resourcesImportProgress: Progress {
      kept.withLock { kept in
        let progress = Progress(totalUnitCount: 4)
        kept = progress
        return progress
      }
    }
    func importResources(at url: URL, request: ResourcesImportRequest) async throws {
      let taken = kept.withLock { $0 }
      for count in 1...4 as ClosedRange<Int64> {
        // Waits until the property is read again.
        while kept.withLock({ $0 === taken }) { await Task.yield() }
        taken?.completedUnitCount = count
        await Self.work.await()
      }
    }
  }

  /// It has one progress that stays, and a separate progress for each file, which is not a part of
  /// the whole.
  final class Filing: ResourcesImporting {
    @TaskLocal static var work = Work()
    let resourcesImportProgress = Progress(totalUnitCount: 4)
    init() {}
    func importResources(at url: URL, request: ResourcesImportRequest) async throws {
      for _ in 1...4 {
        let file = Progress(totalUnitCount: 10)
        file.completedUnitCount = 10
        // This is longer than the time until the next look.
        try await Task.sleep(for: .milliseconds(250))
        resourcesImportProgress.completedUnitCount += 1
        await Self.work.await()
      }
    }
  }

  /// It has one progress with two halves, which the import makes one after the other.
  final class Halving: ResourcesImporting {
    @TaskLocal static var work = Work()
    let resourcesImportProgress = Progress(totalUnitCount: 100)
    init() {}
    func importResources(at url: URL, request: ResourcesImportRequest) async throws {
      for _ in 0..<2 {
        let half = Progress(totalUnitCount: 2)
        resourcesImportProgress.addChild(half, withPendingUnitCount: 50)
        for count in 1...2 as ClosedRange<Int64> {
          half.completedUnitCount = count
          await Self.work.await()
        }
      }
    }
  }

  private func configured<Result>(
    _ type: any ResourcesImporting.Type, _ body: () async throws -> Result
  ) async throws -> Result {
    try await AppMigrationTester.withConfiguration(extension: type, container: scratch.container, body)
  }

  /// Runs the four steps of an import, each after the step before was seen; returns the seen
  /// values.
  private func values(_ type: any ResourcesImporting.Type, _ work: Work) async throws -> [Int64] {
    try await configured(type) {
      // With this total a quarter is a count of 25.
      let progress = Progress(totalUnitCount: 101)
      let imported = Task {
        try await AppMigrationTester(platform: .android).importController.importResources(
          from: scratch.container, progress: progress)
      }
      var seen: [Int64] = []
      for step in 1...3 as ClosedRange<Int64> {
        try await AppMigrationTesterTests.wait { progress.completedUnitCount > seen.last ?? 0 }
        seen.append(progress.completedUnitCount)
        expect(seen.last == step * 25 || type == Keeping.self)
        work.step()
      }
      work.step()
      try await imported.value
      expect(progress.isFinished)
      return seen
    }
  }

  @Test func `the import's watcher reads a computed progress repeatedly`() async throws {
    let work = Work()
    let seen = try await Counting.$work.withValue(work) { try await values(Counting.self, work) }
    expect(seen, is: [25, 50, 75])
    expect(work.asked.withLock { $0 } > 3)
  }

  @Test func `the watcher follows a progress that the import makes at its beginning`() async throws {
    let work = Work()
    expect(try await Making.$work.withValue(work) { try await values(Making.self, work) }, is: [25, 50, 75])
  }

  @Test func `the watcher does not lose a kept progress by reading the property again`() async throws {
    let work = Work()
    let seen = try await Keeping.$work.withValue(work) { try await values(Keeping.self, work) }
    expect(seen.count, is: 3, "each step was seen: \(seen)")
  }

  @Test func `the watcher follows a progress that the import kept at its beginning`() async throws {
    let work = Work()
    expect(try await Taking.$work.withValue(work) { try await values(Taking.self, work) }, is: [25, 50, 75])
  }

  @Test func `a stored progress counts, and the import's other progress objects do not`() async throws {
    let work = Work()
    expect(try await Filing.$work.withValue(work) { try await values(Filing.self, work) }, is: [25, 50, 75])
  }

  @Test func `the watcher does not take a part of the progress for the whole`() async throws {
    let work = Work()
    expect(try await Halving.$work.withValue(work) { try await values(Halving.self, work) }, is: [25, 50, 75])
  }

  // MARK: Notices to the author

  /// It returns a new progress each time, and moves none.
  struct Forgetful: ResourcesImporting {
    var resourcesImportProgress: Progress { Progress(totalUnitCount: 100) }
    func importResources(at url: URL, request: ResourcesImportRequest) async throws {}
  }

  /// It counts its work, and ends at once.
  struct Quick: ResourcesImporting {
    private let done = DoneCount()
    var resourcesImportProgress: Progress {
      let progress = Progress(totalUnitCount: 2)
      progress.completedUnitCount = done.value
      return progress
    }
    func importResources(at url: URL, request: ResourcesImportRequest) async throws { done.value = 2 }
  }

  final class DoneCount: Sendable {
    private let count = Mutex<Int64>(0)
    var value: Int64 {
      get { count.withLock { $0 } }
      set { count.withLock { $0 = newValue } }
    }
  }

  /// It has no work.
  struct Idle: ResourcesImporting {
    var resourcesImportProgress: Progress { Progress(totalUnitCount: 0) }
    func importResources(at url: URL, request: ResourcesImportRequest) async throws {}
  }

  private func notice(_ importer: some ResourcesImporting) async throws -> ExtensionNotice? {
    let app = MigrationAppIdentifier(storeIdentifier: .init(""), bundleIdentifier: "a.b", platform: .linux)
    return try await WatchedImport(importer).run(
      at: scratch.container, ResourcesImportRequest(sourceAppIdentifier: app, sourceVersion: "1")
    ) { _ in }
  }

  @Test func `the author gets a notice only about a progress that cannot move`() async throws {
    expect(try await notice(Forgetful()), is: .unmovedProgress)
    expect(try await notice(Quick()) == nil)
    expect(try await notice(Idle()) == nil)
    expect(try await notice(OnlyImporting()) == nil, "it deliberately shows no progress")
    expect(try await notice(Halves()) == nil, "a progress that does not move for a moment")
  }

  /// It returns one progress, and ends before it moves.
  final class Halves: ResourcesImporting {
    let resourcesImportProgress = Progress(totalUnitCount: 2)
    init() {}
    func importResources(at url: URL, request: ResourcesImportRequest) async throws {}
  }
}
