import Expectations
import Foundation
import Glibc
import MigrationArchive
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationHost

/// The ways in which an extension goes wrong, each with the words that its author reads. The extension is
/// a real process.
@Suite struct AuthorTableTests {
  /// Ways to export, and a part of the failure, of a note, or of the error of an append.
  static let exports: [(way: String, words: String)] = [
    ("throw", "the exporter of org.example.test failed: the author's own words (org.example.test 7)"),
    ("crash", "was ended by signal 11 (segmentation fault) during the export"),
    ("memory", "beyond 8 GiB of memory with the stacks of its threads"),
    ("threads", "had more than 4,096 threads and was ended"),
    ("usual threads", "beyond 8 GiB of memory with the stacks of its threads"),
    ("hang", "appended nothing for 1 second and was ended"),
    ("spin", "appended nothing for 1 second and was ended"),
    ("nothing", "has appended nothing, although the app has data"),
    ("copy", "has left 1 item in its temporary directory"),
    ("outside", "'/etc/passwd' is neither in the app's container or groups, nor a temporary file"),
    ("at once", "the archive already has an item 'Documents/many/0'"),
    ("try", "missing: No such file or directory"),
    ("try", "pipe: it is neither a file nor a directory nor a link"),
    ("try", "\"https://example.org/notes\" is not a file URL"),
    ("try", "\"../up\" is not a path within an archive"),
  ]

  @Test(arguments: exports)
  func `an author reads why an export went wrong`(way: String, words: String) throws {
    let (device, news) = (try AppDevice(["kept": "text"]), News())
    let check = try ExtensionCheck(
      device.app.bundle, home: Array("\(device.scratch.path)/home".utf8), container: nil
    ) { news.note($0) }
    var read: [String] = []
    do {
      // On a busy machine the others need more than a second.
      let limit = ["hang", "spin"].contains(way) ? 1.0 : 60
      let export = try check.export(platform: way, idleLimit: .seconds(limit), until: StopSignal())
      read = export.refused.first.map(\.words)
    } catch {
      read.append(error.description)
    }
    read += news.notices
    expect(read.contains { $0.contains(words) }, "\(read)")
  }

  /// Ways to end a cancelled export, and a part of the note; nil for the proper way.
  static let cancellations: [(way: String, words: String?)] = [
    ("for ever", nil), ("swallow", "did not end within 5 seconds after its cancellation; it was killed"),
    ("return", "returned after its cancellation, and must rethrow the CancellationError"),
  ]

  @Test(arguments: cancellations)
  func `an author reads what was wrong with the end of a cancelled export`(way: String, words: String?) throws {
    let old = try AppDevice(["kept": "text"])
    let (outlet, news) = (Outlet(), News())
    let stopper = try RunningThread("stopper") {
      defer { outlet.stop() }
      try news.wait(for: "appending")
    }
    let error = archiveError { _ = try Migration(from: try old.source(news), platform: way, outlet: outlet) }
    try stopper.value()
    expect(error?.code, is: .stopped)
    let notes = news.notices.filter { $0.contains("exporter") && $0.contains("killed") }
    expect(notes.count, is: words == nil ? 0 : 1, "\(news.notices)")
    if let words { expect(notes.first?.contains(words), is: true, "\(notes)") }
    expect(old.isFree)
  }

  /// Ways to import, and a part of the failure, or of a note.
  static let imports: [(way: String, words: String)] = [
    ("throw", "the importer of org.example.test failed: the author's own words; the data has version 1.0"),
    ("throw", "has failed and left 1 item in its groups, which nothing empties: 'group.org.example.test/half'"),
    ("crash", "the importer of org.example.test was ended by signal 11 (segmentation fault)"),
    ("leave", "the importer of org.example.test ended with status 0"),
    ("link out", "has replaced 'Documents' of the container by a symbolic link that leads out of it"),
    ("no space", "not enough space: the importer of org.example.test failed: "),
    ("take nothing", "has taken nothing of the 16 B that have arrived"),
    ("no progress", "showed no progress of its import until the end"),
    ("pause", "has shown no progress for 0.1 seconds; it may take any time, and Ctrl-C at the receiver cancels it"),
  ]

  @Test(arguments: imports)
  func `an author reads why an import went wrong`(way: String, words: String) throws {
    let (old, new, news) = (try AppDevice(["kept": "text", "behaviour": way]), try AppDevice(), News())
    var options = AppImporter.Options()
    options.draft = new.app.bundle.path
    options.quietTime = 0.1
    let importer = try AppImporter(app: AppDevice.identifier, home: try new.scratch.home(), options: options) {
      news.note($0)
    }
    let error = archiveError { try Migration(from: try old.source()).arrive(at: importer) }
    let read = [error?.description].compactMap(\.self) + news.notices
    expect(read.contains { $0.contains(words) }, "\(read)")
  }

  @Test func `where everything is in order, an author reads nothing`() throws {
    let (old, new, news) = (try AppDevice(["kept": "text"]), try AppDevice(), News())
    try Migration(from: try old.source(news)).arrive(at: try new.importer(news))
    expect(news.notices, is: [])
    expect(news.refused, is: [])
  }

  @Test func `settings that are not appended are named, unless they are empty or may have another form`() throws {
    let device = try AppDevice(["kept": "text"])
    let settings = "\(device.app.containerPath)/.config/\(AppDevice.identifier).plist"
    func left(_ way: String = "", container: String? = nil) throws -> String? {
      try ExtensionCheck(
        device.app.bundle, home: Array("\(device.scratch.path)/home".utf8), container: nil
      ) { _ in }.export(platform: way, until: StopSignal()).leftSettings
    }
    let list = { (entries: String) in
      #"<?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict>\#(entries)</dict></plist>"#
    }
    expect(try left() == nil)
    try write(list(""), to: settings)
    expect(try left() == nil)
    try write(list("<key>a</key><string>b</string>"), to: settings)
    expect(try left(), is: ".config/org.example.test.plist")
    expect(try left("copy") == nil, "a temporary file may have them")
    expect(try left("settings") == nil)
  }

  @Test func `a program that is a script is named as one`() throws {
    let device = try AppDevice()
    try write("#!/bin/sh\nexit 3\n", to: device.program, mode: 0o755)
    let check = try ExtensionCheck(
      device.app.bundle, home: Array("\(device.scratch.path)/home".utf8), container: nil
    ) { _ in }
    let error = archiveError { _ = try check.abilities(until: StopSignal()) }
    guard Confinement.strength.contains(.files) else { return }
    expect(error?.description.contains("its program is a script"), is: true, "\(error as Any)")
    expect(error.map { ExtensionCheck.hint(for: $0) }, is: "Its program must be a compiled one.")
  }

  @Test func `an extracted archive is what an importer gets, and can be imported in the place of an export`() throws {
    let device = try AppDevice(["kept": "text", "behaviour": "origin"])
    let folder = "\(device.scratch.path)/archive"
    let listed = Condition<[String]>([])
    func extract(to folder: String) throws {
      _ = try ExtensionCheck(
        device.app.bundle, home: Array("\(device.scratch.path)/home".utf8), container: nil
      ) { _ in }.export(extractingTo: Array(folder.utf8), until: StopSignal()) { record in
        listed.withLock { $0.append(String(decoding: record.path.bytes, as: UTF8.self)) }
      }
    }
    try extract(to: folder)
    expect(tree(folder), is: ["Documents": nil, "Documents/kept": "text", "Documents/behaviour": "origin"])
    expect(listed.withLock { $0 }.sorted(), is: ["Documents", "Documents/behaviour", "Documents/kept"])
    expect(archiveError { try extract(to: folder) }?.code, is: .refused, "the folder is not empty")
    expect(tree(folder).count, is: 3)
    let beside = try FileManager.default.contentsOfDirectory(atPath: device.scratch.path)
    expect(!beside.contains { $0.hasPrefix(".archive") }, "\(beside)")

    symlink("kept", "\(folder)/Documents/link")
    let (new, news) = (try AppDevice(), News())
    let kept = try KeptArchive(
      at: Array(folder.utf8), of: AppDevice.identifier, version: "1", claim: SourceClaim(platform: "android"))
    try Migration(fromAny: kept).arrive(at: try new.importer(news))
    expect(new.documents, is: ["kept": "text", "behaviour": "origin", "link": "-> kept"])
    expect(news.lines.first, is: "importing version 1 of org.example.test")
    expect(news.lines.contains("from android, 'googlePlay'"), "\(news.lines)")
    expect(tree(folder).count, is: 4, "the archive stays")

    mkfifo("\(folder)/Documents/pipe", 0o600)
    let another = try AppDevice()
    let broken = try KeptArchive(at: Array(folder.utf8), of: AppDevice.identifier, version: "1", claim: nil)
    let error = archiveError { try Migration(fromAny: broken).arrive(at: try another.importer(News())) }
    expect(error?.code == .source && another.documents.isEmpty, "an importer gets all or nothing")
  }
}
