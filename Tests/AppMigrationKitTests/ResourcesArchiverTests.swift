import AppMigrationKit
import Expectations
import Glibc
import TestSupport
import Testing

@Suite struct ResourcesArchiverTests {
  private let scratch: Scratch

  init() throws { scratch = try Scratch.withContainer() }

  /// Returns the code of the CocoaError that `body` throws.
  private static func code(_ body: () async throws -> Void) async -> CocoaError.Code? {
    do {
      try await body()
      return nil
    } catch let error as CocoaError {
      return error.code
    } catch {
      Issue.record("\(error)")
      return nil
    }
  }

  @Test func `an item without a path arrives under its own name`() async throws {
    scratch.write("container/Documents/note", "text")
    scratch.write("container/Documents/folder/.hidden", "")
    let arrived = try await ScriptedExtension.export(scratch) { archiver, container in
      try await archiver.appendItem(at: container.documentsDirectory.appending(path: "note"))
      try await archiver.appendItem(at: container.documentsDirectory.appending(path: "folder/"))
    }
    expect(arrived, is: ["note": "text", "folder": "/", "folder/.hidden": ""])
  }

  @Test(arguments: [
    "a%20b", "with space", "new\nline", "e\u{301}", "\u{e9}", "\u{ac00}", "50%", "q?x#y;z", "back\\slash", "~",
  ])
  func `a name arrives with the same bytes`(_ name: String) async throws {
    scratch.write("container/Documents/\(name)", name)
    let arrived = try await ScriptedExtension.export(scratch) { archiver, container in
      let file = container.documentsDirectory.appending(path: name)
      try await archiver.appendItem(at: file)
      try await archiver.appendItem(at: URL(filePath: file.path), pathInArchive: "in/\(name)")
    }
    expect(Set(arrived.keys.map { Array($0.utf8) }), is: Set(["in", name, "in/\(name)"].map { Array($0.utf8) }))
    expect(arrived[name].map { Array($0.utf8) }, is: Array(name.utf8))
  }

  @Test func `a name that is not UTF-8 arrives by a percent-encoded URL, and in its directory`()
    async throws
  {
    let directory = scratch.path("container/Documents/directory")
    expect(mkdir(directory, 0o755), is: 0)
    let name: [CChar] = Array((directory + "/").utf8CString.dropLast()) + [-1, 0]
    let file = name.withUnsafeBufferPointer { open($0.baseAddress!, O_CREAT | O_WRONLY, 0o644) }
    expect(file >= 0)
    close(file)
    let names = try await ScriptedExtension.with(
      scratch,
      .init(export: { archiver, container in
        let documents = container.documentsDirectory.absoluteString
        try await archiver.appendItem(at: #require(URL(string: "\(documents)/directory/%FF")), pathInArchive: "named")
        try await archiver.appendItem(at: container.documentsDirectory.appending(path: "directory"))
      })
    ) {
      let tester = try await AppMigrationTester(platform: .linux)
      let root = try await tester.exportController.exportResources().extractedResourcesURL
      return try ["", "/directory"].map { try Scratch.names(in: root.path + $0) }
    }
    expect(names, is: [[Array("directory".utf8), Array("named".utf8)], [[0xFF]]])
  }

  @Test(arguments: ["", "/a", "a/", ".", "..", "a//b", "a/../b", "./a", "a\0b", String(repeating: "n", count: 256)])
  func `the archiver refuses an invalid path, and can still be used`(_ path: String) async throws {
    scratch.write("container/Documents/note", "text")
    let arrived = try await ScriptedExtension.export(scratch) { archiver, container in
      let note = container.documentsDirectory.appending(path: "note")
      let code = await Self.code { try await archiver.appendItem(at: note, pathInArchive: path) }
      expect(code, is: .fileWriteInvalidFileName)
      try await archiver.appendItem(at: note)
    }
    expect(arrived, is: ["note": "text"])
  }

  @Test func `an unreadable item throws Foundation's error, and no part of it arrives`() async throws {
    scratch.write("container/Documents/note", "text")
    expect(mkfifo(scratch.path("container/Documents/pipe"), 0o644), is: 0)
    let arrived = try await ScriptedExtension.export(scratch) { archiver, container in
      let documents = container.documentsDirectory
      let expected: [(String, CocoaError.Code)] = [
        ("missing", .fileReadNoSuchFile), ("note/inner", .fileReadNoSuchFile), ("pipe", .fileReadUnknown),
        (String(repeating: "n", count: 300), .fileReadInvalidFileName),
      ]
      for (name, code) in expected {
        let file = documents.appending(path: name)
        expect(await Self.code { try await archiver.appendItem(at: file, pathInArchive: "x") }, is: code, "\(name)")
      }
      let remote = try #require(URL(string: "https://example.org/note"))
      expect(await Self.code { try await archiver.appendItem(at: remote) }, is: .fileReadUnsupportedScheme)
      try await archiver.appendItem(at: documents.appending(path: "note"), pathInArchive: "x")
    }
    expect(arrived, is: ["x": "text"])
  }

  @Test func `the archiver refuses a second item under one path, and merges directories`() async throws {
    scratch.write("container/Documents/one/a", "1")
    scratch.write("container/Documents/two/b", "2")
    let arrived = try await ScriptedExtension.export(scratch) { archiver, container in
      let documents = container.documentsDirectory
      try await archiver.appendItem(at: documents.appending(path: "one"), pathInArchive: "both")
      try await archiver.appendItem(at: documents.appending(path: "two"), pathInArchive: "both")
      let again = documents.appending(path: "two/b")
      expect(
        await Self.code { try await archiver.appendItem(at: again, pathInArchive: "both/a") }, is: .fileWriteFileExists)
    }
    expect(arrived, is: ["both": "/", "both/a": "1", "both/b": "2"])
  }

  @Test func `a symbolic link arrives as a link, wherever it leads`() async throws {
    scratch.makeLink("container/Documents/link", to: "../../nowhere")
    scratch.write("container/Documents/directory/inner")
    scratch.makeLink("container/Documents/shortcut", to: "directory")
    let arrived = try await ScriptedExtension.export(scratch) { archiver, container in
      let documents = container.documentsDirectory
      try await archiver.appendItem(at: documents.appending(path: "link"))
      try await archiver.appendItem(at: documents.appending(path: "shortcut", directoryHint: .isDirectory))
      try await archiver.appendItem(at: documents.appending(path: "shortcut/inner"))
    }
    expect(arrived, is: ["link": "-> ../../nowhere", "shortcut": "-> directory", "inner": "content"])
  }

  @Test func `a cancelled export's appends throw, and so does the export`() async throws {
    scratch.write("container/Documents/note", "text")
    let (stream, started) = AsyncStream.makeStream(of: Void.self)
    let script = ScriptedExtension.Script(export: { archiver, container in
      started.finish()
      while true {
        try await archiver.appendItem(
          at: container.documentsDirectory.appending(path: "note"), pathInArchive: UUID().uuidString)
      }
    })
    await #expect(throws: CancellationError.self) {
      try await ScriptedExtension.with(scratch, script) {
        let tester = try await AppMigrationTester(platform: .android)
        let export = Task { try await tester.exportController.exportResources(request: nil).extractedResourcesURL }
        for await _ in stream {}
        export.cancel()
        _ = try await export.value
      }
    }
  }

  @Test func `an append also works on the main actor and within the author's own task`() async throws {
    scratch.write("container/Documents/note", "text")
    let arrived = try await ScriptedExtension.export(scratch) { archiver, container in
      try await Self.appendOnMainActor(container.documentsDirectory.appending(path: "note"), to: archiver)
    }
    expect(arrived, is: ["note": "text"])
  }

  @MainActor private static func appendOnMainActor(_ url: URL, to archiver: sending ResourcesArchiver) async throws {
    try await archiver.appendItem(at: url)
  }
}
