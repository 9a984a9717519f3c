import AppMigrationKit

/// The ways in which the test extension exports.
struct TestExport {
  let documents: URL
  let group: URL
  let options: [TestAppExtension.OptionsType: String]

  func run(_ behaviour: String, _ archiver: ResourcesArchiver) async throws {
    switch behaviour {
    case "throw":
      try await appendAll(archiver)
      throw TestAppExtension.Failure()
    case "crash":
      try await appendAll(archiver)
      crash()
    case "hang":
      try await appendAll(archiver)
      while true { sleep(1) }
    case "threads": makeThreads()
    case "usual threads": makeThreads(stackSize: 8 << 20)
    case "memory": takeMemory()
    case "try": try await tryWrongItems(archiver)
    case "settings":
      let settings = documents.deletingLastPathComponent().appending(path: ".config")
      try await archiver.appendItem(at: settings, pathInArchive: "Settings")
    case "outside": try await archiver.appendItem(at: URL(filePath: "/etc/passwd"))
    case "spin": while true { _ = documents.path }
    case "swallow": try await swallow(archiver)
    case "return": try await appendForEver(archiver, endsQuietly: true)
    case "for ever": try await appendForEver(archiver)
    case "look": try await look(archiver)
    case "escape": try await escape.tryAll(archiver)
    case "attributes": escape.tryAttributes()
    case "deep": try await appendDeep(archiver)
    case "names": try await appendNames(archiver)
    case "one by one": try await appendOneByOne(archiver)
    case "at once": try await appendAtOnce(archiver)
    case "pause": try await appendWithPauses(archiver)
    case "pause once": try await appendWithPauses(archiver, isRepeated: false)
    case "stop": try await stopFirst(archiver)
    case "scratch": try await appendBesideScratch(archiver)
    case "copy": try await appendFromScratch(archiver)
    case "nothing": break
    case "encoded":
      // The usual mistake: the path of a URL is percent-encoded.
      let file = documents.appending(path: "my file")
      try await archiver.appendItem(at: file, pathInArchive: file.path().split(separator: "/").last.map(String.init))
    default: try await appendAll(archiver)
    }
  }

  /// Makes threads until it is ended.
  private func makeThreads(stackSize: Int = 64 << 10) {
    while true {
      let thread = Thread { while true { sleep(1000) } }
      thread.stackSize = stackSize
      thread.start()
    }
  }

  /// Asks for memory, which it does not use, until it is ended.
  private func takeMemory() {
    var all: [UnsafeMutableRawPointer] = []
    while true { all.append(.allocate(byteCount: 1 << 30, alignment: 16)) }
  }

  /// Does not look at the errors of wrong items.
  private func tryWrongItems(_ archiver: ResourcesArchiver) async throws {
    try await appendAll(archiver)
    let pipe = FileManager.default.temporaryDirectory.appending(path: "pipe")
    mkfifo(pipe.path, 0o600)
    for url in [documents.appending(path: "missing"), pipe, URL(string: "https://example.org/notes")!] {
      try? await archiver.appendItem(at: url)
    }
    try? await archiver.appendItem(at: documents, pathInArchive: "../up")
  }

  func appendAll(_ archiver: ResourcesArchiver) async throws {
    try await archiver.appendItem(at: documents)
    let shared = group.appending(path: "shared")
    if FileManager.default.fileExists(atPath: shared.path) {
      try await archiver.appendItem(at: shared, pathInArchive: "Group/shared")
    }
  }

  /// Copies the item that it appends, and leaves the copy.
  private func appendFromScratch(_ archiver: ResourcesArchiver) async throws {
    let copy = FileManager.default.temporaryDirectory.appending(path: "copy")
    try Data(repeating: 1, count: 3_000_000).write(to: copy)
    try await archiver.appendItem(at: copy, pathInArchive: "Documents/copy")
    try await appendAll(archiver)
  }

  private var escape: Escape { Escape(outside: options[.path] ?? "/etc/hostname", documents: documents) }

  /// Appends until an append throws. With `endsQuietly` it then returns as if the export were
  /// complete.
  private func appendForEver(_ archiver: ResourcesArchiver, endsQuietly: Bool = false) async throws {
    try await appendAll(archiver)
    print("appending")
    for number in 0... {
      do {
        try await archiver.appendItem(at: documents.appending(path: "kept"), pathInArchive: "many/\(number)")
      } catch  where endsQuietly {
        return
      }
      // An exporter that never ends need not fill the disk.
      try? await Task.sleep(for: .milliseconds(20))
    }
  }

  /// Continues after the cancellation.
  private func swallow(_ archiver: ResourcesArchiver) async throws {
    try await appendAll(archiver)
    print("appending")
    for number in 0... {
      try? await archiver.appendItem(at: documents.appending(path: "kept"), pathInArchive: "many/\(number)")
      // A task's sleep would return at once, since the task is cancelled.
      usleep(20_000)
    }
  }

  /// Appends under paths whose directories would fill the host's memory if they were stored in
  /// full.
  private func appendDeep(_ archiver: ResourcesArchiver) async throws {
    let kept = documents.appending(path: "kept")
    for number in 0..<1000 {
      let path = "\(number)/" + String(repeating: "directory-with-name/", count: 2000) + "kept"
      try await archiver.appendItem(at: kept, pathInArchive: path)
    }
  }

  /// Appends every file of the folder separately.
  private func appendOneByOne(_ archiver: ResourcesArchiver) async throws {
    let folder = documents.appending(path: "many")
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      try await archiver.appendItem(
        at: URL(fileURLWithPath: "\(folder.path)/\(name)", isDirectory: false), pathInArchive: "Documents/many/\(name)")
    }
  }

  /// The interface lets one task append. Authors can evade this check in this way.
  private struct Evading {
    nonisolated(unsafe) let archiver: ResourcesArchiver
  }

  /// Appends many files at once, and one of them under another file's path.
  private func appendAtOnce(_ archiver: ResourcesArchiver) async throws {
    try await archiver.appendItem(at: documents)
    let kept = documents.appending(path: "kept")
    let evading = Evading(archiver: archiver)
    let refused = await withTaskGroup(of: Bool.self) { group in
      for number in 0..<300 {
        group.addTask {
          do {
            try await evading.archiver.appendItem(at: kept, pathInArchive: "Documents/many/\(number % 299)")
            return false
          } catch {
            return true
          }
        }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    print("refused \(refused)")
  }

  /// Appends under each of the names, one on each line, and reports the results.
  private func appendNames(_ archiver: ResourcesArchiver) async throws {
    for name in (options[.names] ?? "").split(separator: "\u{1}", omittingEmptySubsequences: false).map(String.init) {
      do {
        try await archiver.appendItem(at: documents.appending(path: "kept"), pathInArchive: name)
        print("name \(name.utf8.count): taken")
      } catch let error as CocoaError {
        print("name \(name.utf8.count): refused \(error.code.rawValue)")
      }
    }
    do {
      try await archiver.appendItem(at: documents.appending(path: "no such file"))
    } catch let error as CocoaError {
      print("missing: refused \(error.code.rawValue)")
    }
    try await archiver.appendItem(at: documents.appending(path: "behaviour"), pathInArchive: "Documents/behaviour")
  }

  /// Tries the actions that the host must deny to an exporter, and reports the results.
  private func look(_ archiver: ResourcesArchiver) async throws {
    let outside = options[.path] ?? "/etc/hostname"
    print("read outside: \(FileManager.default.contents(atPath: outside) == nil ? "refused" : "DONE")")
    print("list outside: \((try? FileManager.default.contentsOfDirectory(atPath: "/etc")) == nil ? "refused" : "DONE")")
    do {
      try await archiver.appendItem(at: URL(fileURLWithPath: outside))
      print("append outside: DONE")
    } catch {
      print("append outside: refused")
    }
    print("write inside: \((try? Data().write(to: documents.appending(path: "made"))) == nil ? "refused" : "DONE")")
    print("mode outside: \(chmod(outside, 0o600) == 0 ? "DONE" : "refused")")
    let scratch = FileManager.default.temporaryDirectory.appending(path: "made")
    print("write scratch: \((try? Data([1]).write(to: scratch)) == nil ? "REFUSED" : "done")")
    print("mode in scratch: \(chmod(scratch.path, 0o640) == 0 ? "done" : "REFUSED")")
    print("socket: \(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) < 0 ? "refused" : "DONE")")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/true")
    print("process: \((try? process.run()) == nil ? "refused" : "DONE")")
    try await appendAll(archiver)
  }
}
