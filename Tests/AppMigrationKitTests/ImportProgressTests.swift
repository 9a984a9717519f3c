import MigrationHost
import Synchronization
import TestSupport
import Testing

@testable import AppMigrationKit

/// How far an import is, in the ways in which authors show it.
@Suite struct ImportProgressTests {
  private let scratch: Scratch

  init() throws { scratch = try Scratch.withContainer() }

  /// What a test and the importer that it makes have in common.
  final class Work: Sendable {
    let done = Mutex<Int64>(0)
    let asked = Mutex(0)
    private let steps: AsyncStream<Void>
    private let next: AsyncStream<Void>.Continuation

    init() { (steps, next) = AsyncStream.makeStream() }

    func step() { next.yield() }
    func await() async { for await _ in steps { return } }
  }

  /// Its property makes a progress of what is done at the time.
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

  /// Its property makes a new one each time, and so does the import, where it begins.
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

  /// Its property makes a new one each time and keeps it, and the import moves the one that is kept.
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

  /// Its property makes a new one each time and keeps it, and the import moves the one that is kept when it begins.
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
        // Until the property was asked again.
        while kept.withLock({ $0 === taken }) { await Task.yield() }
        taken?.completedUnitCount = count
        await Self.work.await()
      }
    }
  }

  /// One progress that stays, and one for each file that is no part of it and has nothing to say of the whole.
  final class Filing: ResourcesImporting {
    @TaskLocal static var work = Work()
    let resourcesImportProgress = Progress(totalUnitCount: 4)
    init() {}
    func importResources(at url: URL, request: ResourcesImportRequest) async throws {
      for _ in 1...4 {
        let file = Progress(totalUnitCount: 10)
        file.completedUnitCount = 10
        // Longer than it takes until the next look.
        try await Task.sleep(for: .milliseconds(250))
        resourcesImportProgress.completedUnitCount += 1
        await Self.work.await()
      }
    }
  }

  /// One progress with two halves, which the import makes one after the other.
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

  /// Lets an import do its four steps, each when the one before was seen; what was seen.
  private func values(_ type: any ResourcesImporting.Type, _ work: Work) async throws -> [Int64] {
    try await configured(type) {
      // So that a fraction of a quarter is a count of 25.
      let progress = Progress(totalUnitCount: 101)
      let imported = Task {
        try await AppMigrationTester(platform: .android).importController.importResources(
          from: scratch.container, progress: progress)
      }
      var seen: [Int64] = []
      for step in 1...3 as ClosedRange<Int64> {
        try await AppMigrationTesterTests.wait { progress.completedUnitCount > seen.last ?? 0 }
        seen.append(progress.completedUnitCount)
        #expect(seen.last == step * 25 || type == Keeping.self)
        work.step()
      }
      work.step()
      try await imported.value
      #expect(progress.isFinished)
      return seen
    }
  }

  @Test func `a computed progress is asked for again and again`() async throws {
    let work = Work()
    let seen = try await Counting.$work.withValue(work) { try await values(Counting.self, work) }
    #expect(seen == [25, 50, 75])
    #expect(work.asked.withLock { $0 } > 3)
  }

  @Test func `a progress that the import makes where it begins is followed`() async throws {
    let work = Work()
    #expect(try await Making.$work.withValue(work) { try await values(Making.self, work) } == [25, 50, 75])
  }

  @Test func `one that is made anew at each question and kept is not lost by another question`() async throws {
    let work = Work()
    let seen = try await Keeping.$work.withValue(work) { try await values(Keeping.self, work) }
    #expect(seen.count == 3, "each step was seen: \(seen)")
  }

  @Test func `one that was kept when the import began is followed, whatever the property returns later`() async throws {
    let work = Work()
    #expect(try await Taking.$work.withValue(work) { try await values(Taking.self, work) } == [25, 50, 75])
  }

  @Test func `a stored progress is the author's word, whatever else the import makes`() async throws {
    let work = Work()
    #expect(try await Filing.$work.withValue(work) { try await values(Filing.self, work) } == [25, 50, 75])
  }

  @Test func `a part of the progress is not taken for the whole`() async throws {
    let work = Work()
    #expect(try await Halving.$work.withValue(work) { try await values(Halving.self, work) } == [25, 50, 75])
  }

  // MARK: What the author is told

  /// Returns a new progress each time, and moves none.
  struct Forgetful: ResourcesImporting {
    var resourcesImportProgress: Progress { Progress(totalUnitCount: 100) }
    func importResources(at url: URL, request: ResourcesImportRequest) async throws {}
  }

  /// Counts what is done, and is through at once.
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

  /// Has nothing to do.
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

  @Test func `the author is told of a progress that cannot move, and of nothing else`() async throws {
    #expect(try await notice(Forgetful()) == .unmovedProgress)
    #expect(try await notice(Quick()) == nil)
    #expect(try await notice(Idle()) == nil)
    #expect(try await notice(OnlyImporting()) == nil, "it shows none on purpose")
    #expect(try await notice(Halves()) == nil, "one that stands still for a moment")
  }

  /// Returns one progress, and ends before it moves.
  final class Halves: ResourcesImporting {
    let resourcesImportProgress = Progress(totalUnitCount: 2)
    init() {}
    func importResources(at url: URL, request: ResourcesImportRequest) async throws {}
  }
}
