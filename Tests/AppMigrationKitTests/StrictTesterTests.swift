import Expectations
import Glibc
import MigrationHost
import MigrationSystem
import TestSupport
import Testing

@testable import AppMigrationKit

/// A tester refuses the actions that a device refuses or ends an extension for.
@Suite struct StrictTesterTests {
  private let scratch: Scratch

  init() throws { scratch = try Scratch.withContainer() }

  /// Exports by a script within a limit; returns the test's error.
  private func refusal(_ script: ScriptedExtension.Script, limit: IdleLimit = .off) async -> NSError? {
    do {
      try await ScriptedExtension.with(scratch, script, limit: limit) {
        _ = try await AppMigrationTester(platform: .android).exportController.exportResources(request: nil)
      }
      return nil
    } catch {
      return error as NSError
    }
  }

  // MARK: Estimate and silence

  @Test func `the tester refuses an estimate below zero, and nothing is exported`() async {
    let isExported = Mutex(false)
    let error = await refusal(.init(export: { _, _ in isExported.withLock { $0 = true } }, estimate: -5))
    expect(error?.domain, is: "PeerMigrationErrorDomain")
    expect(error?.localizedDescription.contains("at -5 bytes, which is negative"), is: true)
    expect(error.map { "\($0)".contains("at -5 bytes") }, is: true, "a test prints the error's description")
    expect(!isExported.withLock { $0 })
  }

  @Test func `the tester gives up an exporter that appends nothing for too long, in any state`() async {
    let error = await refusal(
      .init(export: { _, _ in
        // Its thread does not return before the test has got its error.
        for _ in 0..<300 where !Task.isCancelled { Self.block() }
      }), limit: .seconds(1))
    expect(error?.domain, is: "PeerMigrationErrorDomain")
    expect(error?.localizedDescription.contains("appended nothing for 1 second;"), is: true)
  }

  @Test func `each append restarts the limit, which may also be off`() async throws {
    scratch.write("container/Documents/note")
    let script = ScriptedExtension.Script(export: { archiver, container in
      for number in 0..<3 {
        try await Task.sleep(for: .milliseconds(700))
        try await archiver.appendItem(
          at: container.documentsDirectory.appending(path: "note"), pathInArchive: "\(number)")
      }
    })
    expect(await refusal(script, limit: .seconds(2)) == nil)
    expect(await refusal(script, limit: .off) == nil)
  }

  // MARK: Cancellation

  /// Cancels an export at its second append; returns the test's error.
  private func cancelled(
    _ export: @escaping @Sendable (sending ResourcesArchiver, URL) async throws -> Void
  ) async -> (any Error)? {
    scratch.write("container/Documents/note")
    let (steps, next) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      try await ScriptedExtension.with(
        scratch,
        .init(export: { archiver, container in
          let note = container.documentsDirectory.appending(path: "note")
          try await archiver.appendItem(at: note)
          next.yield()
          // Waits until the test has cancelled it.
          while !Task.isCancelled { await Task.yield() }
          try await export(archiver, note)
        })
      ) {
        _ = try await AppMigrationTester(platform: .android).exportController.exportResources(request: nil)
      }
    }
    for await _ in steps { break }
    task.cancel()
    do {
      try await task.value
      return nil
    } catch {
      return error
    }
  }

  @Test func `a cancellation that the exporter lets through is a cancellation`() async {
    let error = await cancelled { archiver, note in try await archiver.appendItem(at: note, pathInArchive: "2") }
    expect(error is CancellationError)
    expect(await cancelled { _, _ in } is CancellationError, "an export without further appends")
  }

  @Test func `a hidden cancellation is an error`() async {
    for isThrowing in [false, true] {
      let error = await cancelled { archiver, note in
        try? await archiver.appendItem(at: note, pathInArchive: "2")
        if isThrowing { throw CocoaError(.fileReadUnknown) }
      }
      expect((error as NSError?)?.domain, is: "PeerMigrationErrorDomain")
      expect(error?.localizedDescription, is: "The exporter did not rethrow its cancellation.")
    }
  }

  @Test func `the tester gives up an exporter that continues after its cancellation`() async {
    let isTold = Mutex(false)
    let isThrough = Mutex(false)
    let error = await cancelled { archiver, note in
      for _ in 0..<1_000 where !isTold.withLock({ $0 }) {
        try? await archiver.appendItem(at: note, pathInArchive: "2")
        Self.block()
      }
      isThrough.withLock { $0 = true }
    }
    expect(!isThrough.withLock { $0 }, "the test got its error before the exporter ended")
    isTold.withLock { $0 = true }
    expect(error?.localizedDescription, is: "The exporter did not rethrow its cancellation.")
  }

  /// Blocks its thread, as an author's code may: a task's sleep would end with the task.
  private static func block() { usleep(100_000) }

  // MARK: AppendableArea

  /// The error of appending a path; nil if it succeeds.
  private func appending(_ path: String, to name: String = "x") async throws -> CocoaError.Code? {
    let code = Mutex<CocoaError.Code?>(nil)
    let script = ScriptedExtension.Script(export: { archiver, _ in
      do {
        try await archiver.appendItem(at: URL(filePath: path), pathInArchive: name)
      } catch let error as CocoaError {
        code.withLock { $0 = error.code }
      }
    })
    if let error = await refusal(script) { throw error }
    return code.withLock { $0 }
  }

  /// The smallest file beside this process's program, which is large itself.
  private func ownFile() throws -> URL {
    let files = try FileManager.default.contentsOfDirectory(at: Bundle.main.bundleURL, includingPropertiesForKeys: nil)
    let sizes = files.compactMap { file -> (bytes: Int, file: URL)? in
      let values = try? file.resourceValues(forKeys: [.isRegularFileKey, .fileSizeKey])
      guard let bytes = values?.fileSize, values?.isRegularFile == true else { return nil }
      return (bytes, file)
    }
    return try #require(sizes.min { $0.bytes < $1.bytes }).file
  }

  @Test func `the archiver refuses items outside the container, groups, temporary directory and bundle`() async throws {
    for name in ["container/Documents/note", "group/note"] { scratch.write(name) }
    for name in ["container/Documents/note", "container", "group/note", "group"] {
      expect(try await appending(scratch.path(name)) == nil, "\(name)")
    }
    let temporary = FileManager.default.temporaryDirectory.appending(path: "strict-\(UUID().uuidString)")
    try Data([1]).write(to: temporary)
    expect(try await appending(temporary.path) == nil)
    try FileManager.default.removeItem(at: temporary)
    expect(try await appending(try ownFile().path) == nil, "the extension's own bundle")

    expect(try await appending("/etc/hostname"), is: .fileReadNoPermission)
    expect(try await appending("/etc"), is: .fileReadNoPermission)
    expect(try await appending("/proc/self/exe"), is: .fileReadNoPermission, "a link outside")
    expect(try await appending("/etc/there is nothing"), is: .fileReadNoSuchFile)
    scratch.makeLink("container/Documents/away", to: "/etc")
    expect(try await appending(scratch.path("container/Documents/away/hostname")), is: .fileReadNoPermission)
    expect(try await appending(scratch.path("container/Documents/away")) == nil, "a link is appended as a link")
    let beside = "\(scratch.path("container"))-not"
    expect(try await appending(beside), is: .fileReadNoSuchFile)
  }

  @Test func `reach ends at the names of the roots`() throws {
    for name in ["rooted/container", "rooted/container-not"] { scratch.makeDirectory(name) }
    scratch.write("rooted/container/note")
    scratch.write("rooted/container-not/note")
    let reach = AppendableArea(
      AppSurroundings(
        container: MigrationDataContainer(bundleIdentifier: "a.b", root: scratch.url("rooted/container")), groups: [:],
        status: TesterConfiguration.StatusMemory()), temporary: scratch.url("nowhere"))
    _ = try reach.open(scratch.at("rooted/container/note"))
    for name in ["rooted/container-not/note", "rooted"] {
      do {
        _ = try reach.open(scratch.at(name))
        Issue.record("\(name) was opened")
      } catch {
        expect(error.code, is: .fileReadNoPermission)
      }
    }
  }

  @Test func `the archiver refuses a path that no archive can have`() async throws {
    scratch.write("container/Documents/note")
    for name in ["", "/a", "a//b", "a/../b", "."] {
      expect(
        try await appending(scratch.path("container/Documents/note"), to: name), is: .fileWriteInvalidFileName,
        "\(name)")
    }
  }

  // MARK: Failed imports

  @Test func `a failed import empties the container and keeps the groups, which the test can inspect`() async throws {
    let script = ScriptedExtension.Script(importing: { _, _, container in
      let group = try #require(FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: Guest.group))
      try Data([1]).write(to: container.documentsDirectory.appending(path: "half"))
      try Data([1]).write(to: container.containerRootDirectory.appending(path: "beside"))
      try FileManager.default.createDirectory(
        at: group.appending(path: "deep"), withIntermediateDirectories: true)
      try Data([1]).write(to: group.appending(path: "deep/left"))
      throw CocoaError(.fileReadCorruptFile)
    })
    try await ScriptedExtension.with(scratch, script) {
      let controller = try await AppMigrationTester(platform: .android).importController
      expect(controller.leftInGroups.isEmpty)
      await #expect(throws: CocoaError.self) { try await controller.importResources(from: scratch.container) }
      let container = try #require(controller.importedContainer).containerRootDirectory
      expect(
        try Scratch.contents(of: container), is: ["Documents": "/", "Library": "/", "Library/Application Support": "/"])
      expect(controller.leftInGroups, is: [Guest.group: ["deep/left"]])
    }
  }

  @Test func `an import fails if a link that leads out of the container replaces one of its directories`() async throws
  {
    let script = ScriptedExtension.Script(importing: { _, _, container in
      try FileManager.default.removeItem(at: container.documentsDirectory)
      try FileManager.default.createSymbolicLink(
        atPath: container.documentsDirectory.path, withDestinationPath: "/etc")
    })
    try await ScriptedExtension.with(scratch, script) {
      let controller = try await AppMigrationTester(platform: .android).importController
      let error = await #expect(throws: NSError.self) {
        try await controller.importResources(from: scratch.container)
      }
      expect(error?.localizedDescription.contains("replaced 'Documents'"), is: true)
    }
  }

  @Test func `a cancelled import throws a cancellation, even if the importer throws another error`() async throws {
    let (steps, next) = AsyncStream.makeStream(of: Void.self)
    let script = ScriptedExtension.Script(importing: { _, _, container in
      try Data([1]).write(to: container.documentsDirectory.appending(path: "half"))
      next.yield()
      while !Task.isCancelled { await Task.yield() }
      throw CocoaError(.fileReadUnknown)
    })
    try await ScriptedExtension.with(scratch, script) {
      let controller = try await AppMigrationTester(platform: .android).importController
      let task = Task { try await controller.importResources(from: scratch.container) }
      for await _ in steps { break }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      let documents = try #require(controller.importedContainer).documentsDirectory
      expect(try FileManager.default.contentsOfDirectory(atPath: documents.path).isEmpty)
    }
  }
}
