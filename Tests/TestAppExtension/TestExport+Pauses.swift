import AppMigrationKit

extension TestExport {
  /// Appends nothing for a number of seconds, then everything. It may then pause again before one
  /// more item.
  func appendWithPauses(_ archiver: ResourcesArchiver, isRepeated: Bool = true) async throws {
    let pause = Duration.seconds(options[.count].flatMap { Double($0) } ?? 1)
    print("pausing")
    try await Task.sleep(for: pause)
    try await appendAll(archiver)
    guard isRepeated else { return }
    try await Task.sleep(for: pause)
    try await archiver.appendItem(at: documents.appending(path: "kept"), pathInArchive: "late")
  }

  /// Stops its own process until a signal continues it.
  func stopFirst(_ archiver: ResourcesArchiver) async throws {
    print(getpid())
    print("stopping")
    kill(getpid(), SIGSTOP)
    try await appendAll(archiver)
  }

  /// Leaves a file of a given size in the scratch directory.
  func appendBesideScratch(_ archiver: ResourcesArchiver) async throws {
    let count = options[.count].flatMap { Int($0) } ?? 0
    try Data(repeating: 7, count: count).write(to: FileManager.default.temporaryDirectory.appending(path: "left"))
    try await appendAll(archiver)
  }
}
