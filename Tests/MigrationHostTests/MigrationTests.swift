import Expectations
import Foundation
import Glibc
import MigrationArchive
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationHost

/// With the real process of an extension.
@Suite struct MigrationTests {
  @Test func `an app's data arrives, and its status shows it`() throws {
    let (old, new) = (try AppDevice(["kept": "text", "version": "2.7"]), try AppDevice())
    try write("shared", to: "\(old.groupPath)/shared")
    let news = News()
    let migration = try Migration(from: try old.source())
    var progress: [ImportProgress] = []
    try migration.arrive(at: try new.importer(news)) { progress.append($0) }
    expect(new.documents, is: old.documents)
    expect(content("\(new.groupPath)/shared"), is: "shared")
    expect(news.lines, is: ["importing version 2.7 of org.example.test"])
    let record = try #require(new.app.importRecord)
    expect(record.failure == nil)
    expect(progress.first?.done == 0 && progress.last?.done == progress.last?.total)
    expect(try !new.app.isUnsettled)
    expect(old.isFree && new.isFree)
    expect(!exists("\(new.scratch.path)/home/scratch/org.example.test"))
  }

  @Test func `many simultaneous appends arrive, and of two with one path one is refused`() throws {
    let (old, new) = (try AppDevice(["kept": "text"]), try AppDevice())
    let news = News()
    let migration = try Migration(from: try old.source(news), platform: "at once")
    expect(news.lines, is: ["refused 1"])
    try migration.arrive(at: try new.importer())
    expect(new.documents.count, is: old.documents.count + 300, "the files, and the folder that they are in")
  }

  @Test(arguments: ["throw", "hang"])
  func `an exporter that fails ends the transfer, and the app is free`(platform: String) throws {
    let old = try AppDevice(["kept": "text"])
    let error = archiveError { _ = try Migration(from: try old.source(idleLimit: .seconds(1)), platform: platform) }
    expect(error?.code, is: .exportFailed)
    expect(old.isFree)
  }

  @Test func `a host that did not run for a while does not blame the exporter for it`() throws {
    let old = try AppDevice(["kept": "text"])
    try write("shared", to: "\(old.groupPath)/shared")
    // Stopped once, when the first append is answered; the host checks the clock before it reads
    // the extension's messages.
    let host = pthread_self()
    let mayLeave = Mutex(true)
    let outlet = Outlet(whenAsked: { frames in
      guard pthread_self() == host else { return }
      let leaves = mayLeave.withLock { mayLeave in
        defer { mayLeave = mayLeave && frames == 0 }
        return mayLeave && frames > 0
      }
      if leaves { sleep(6) }
    })
    let migration = try Migration(from: try old.source(idleLimit: .seconds(5)), outlet: outlet)
    expect(migration.result.finish.total.items, is: 4)
  }

  @Test func `an importer that throws leaves an empty container, an unchanged group, and its message`() throws {
    let (old, new) = (try AppDevice(["kept": "text", "behaviour": "throw"]), try AppDevice())
    let migration = try Migration(from: try old.source())
    let error = archiveError { try migration.arrive(at: try new.importer()) }
    expect(error?.code, is: .importFailed)
    expect(new.documents.isEmpty)
    expect(content("\(new.groupPath)/half"), is: "half")
    let failure = try #require(new.app.importRecord?.failure)
    expect(failure.domain == "org.example.test" && failure.code == 7 && failure.text == "the author's own words")
    expect(failure.userInfo["NSDebugDescription"], is: "the data has version 1.0")
    expect(error?.description.hasSuffix("words; the data has version 1.0 (org.example.test 7)"), is: true)
    expect(error?.hint, is: "The received data is kept: after a repair, run the same command again on both devices.")
    // The same transfer once more: the items that the importer had moved are sent again.
    try write("", to: "\(old.app.containerPath)/Documents/behaviour")
    try Migration(from: try old.source()).arrive(at: try new.importer())
    expect(new.documents, is: old.documents)
    let record = try #require(new.app.importRecord)
    expect(record.failure == nil)
  }

  @Test func `the next attempt detects all items that an importer has replaced`() throws {
    let names = ["fifo", "directory", "link", "changed", "closed", "tree/inner", "kept"]
    let texts = names.map { ($0, "text of \($0)") } + [("behaviour", "spoil")]
    let (old, new) = (try AppDevice(Dictionary(uniqueKeysWithValues: texts)), try AppDevice())
    expect(
      archiveError { try Migration(from: try old.source()).arrive(at: try new.importer()) }?.code, is: .importFailed)
    expect(new.documents.isEmpty)
    try write("", to: "\(old.app.containerPath)/Documents/behaviour")
    try Migration(from: try old.source()).arrive(at: try new.importer())
    expect(new.documents, is: old.documents)
  }

  @Test(arguments: [("crash", "signal 11"), ("leave", "status 0")])
  func `an importer that ends without a report has failed`(behaviour: String, reason: String) throws {
    let (old, new) = (try AppDevice(["kept": "text", "behaviour": behaviour]), try AppDevice())
    let migration = try Migration(from: try old.source())
    let error = archiveError { try migration.arrive(at: try new.importer()) }
    expect(error?.code == .importFailed && error?.description.contains(reason) == true, "\(error as Any)")
    expect(new.documents.isEmpty)
    expect(new.app.importRecord?.failure?.domain, is: ReportedError.systemDomain)
    expect(try !new.app.isUnsettled)
  }

  @Test(arguments: ["stay", "ignore"])
  func `an import that is cancelled is undone, regardless of the importer's behaviour`(behaviour: String) throws {
    let (old, new) = (try AppDevice(["kept": "text", "behaviour": behaviour]), try AppDevice(["own": "data"]))
    let (migration, news) = (try Migration(from: try old.source()), News())
    let importer = try new.importer(news, replaces: true)
    let stopper = try RunningThread("stopper") {
      defer { importer.interrupt() }
      try news.wait(for: "importing version 1.0 of org.example.test")
    }
    let error = archiveError { try migration.arrive(at: importer) }
    try stopper.value()
    expect(error?.code, is: .importCancelled)
    expect(
      error?.hint,
      is: "The app's earlier data is back, and the received data is kept. Start the same command on both devices again."
    )
    expect(new.documents, is: ["own": "data"])
    expect(new.app.importRecord?.failure, is: .cancelled)
  }

  @Test func `a container with data is refused, and nothing is changed`() throws {
    let (old, new) = (try AppDevice(["kept": "text"]), try AppDevice(["own": "data"]))
    let migration = try Migration(from: try old.source())
    let error = archiveError { try migration.arrive(at: try new.importer()) }
    expect(error?.code == .appHasData && error?.hint?.contains("--replace") == true)
    expect(new.documents, is: ["own": "data"])
    expect(new.app.importRecord == nil)
  }

  @Test func `an app that is being migrated is locked until its source is released`() throws {
    let old = try AppDevice()
    do {
      let source = try old.source()
      #expect(throws: Failure.self) { try old.app.lock(.running) }
      withExtendedLifetime(source) {}
    }
    _ = try old.app.lockOnceFree(.running)
  }

  @Test(
    .enabled(if: Confinement.strength.contains(.attributes), "modes cannot be guarded here"),
    arguments: Confinement.AttributeGuard.possible)
  func `modes, owners and times outside cannot be changed`(guard means: Confinement.AttributeGuard) throws {
    let old = try AppDevice(["kept": "text"])
    let outside = "\(old.scratch.path)/outside"
    for place in [outside, "\(old.app.containerPath)/Documents/kept"] {
      try write("secret", to: outside)
      let news = News()
      _ = try Migration(
        from: try old.source(news, attributeGuard: means), platform: "attributes", options: ["path": place])
      expect(news.lines.count == 3 && news.lines.allSatisfy { $0.hasSuffix(": refused") }, "\(news.lines)")
    }
    expect(mode(outside), is: 0o644)
  }

  @Test(.enabled(if: Confinement.strength.isSuperset(of: [.files, .calls]), "no Landlock or no filter of calls here"))
  func `operations that no rule about files covers are refused as well`() throws {
    let old = try AppDevice(["kept": "text"])
    let outside = "\(old.scratch.path)/outside"
    try write("secret", to: outside)
    let news = News()
    _ = try Migration(from: try old.source(news), platform: "escape", options: ["path": outside])
    expect(news.lines.filter { !$0.hasSuffix(": refused") }, is: ["signal its own process: done"])
    expect(news.lines.count, is: 14, "\(news.lines)")
  }

  @Test func `an extension that is not confined has its user's access, and a notice says so`() throws {
    let old = try AppDevice(["kept": "text"])
    let outside = "\(old.scratch.path)/outside"
    try write("secret", to: outside)
    let news = News()
    _ = try Migration(
      from: try old.source(news, isConfined: false), platform: "look", options: ["path": outside])
    // The file is no data of the app, also for an extension that can read it.
    expect(news.lines.filter { !$0.lowercased().hasSuffix(": done") }, is: ["append outside: refused"])
    expect(news.notices, is: ["the app's extension is not confined: it may do what you may"])
    expect(old.isFree && mode(outside) == 0o600)
  }

  @Test func `paths whose directories would fill the memory end the export`() throws {
    let old = try AppDevice(["kept": "text"])
    let error = archiveError { _ = try Migration(from: try old.source(), platform: "deep") }
    expect(error?.code, is: .exportFailed, "\(error as Any)")
  }

  @Test func `a failed import says that the app's earlier data is back`() throws {
    let (old, new) = (try AppDevice(["kept": "new", "behaviour": "throw"]), try AppDevice(["kept": "old"]))
    let error = archiveError {
      try Migration(from: try old.source()).arrive(at: try new.importer(replaces: true))
    }
    expect(error?.hint?.hasPrefix("The app's earlier data is back, and the received data is kept"), is: true)
    expect(new.documents, is: ["kept": "old"])
  }

  @Test(arguments: ["link out", "link inside"])
  func `an importer fails if it replaces a directory of the container by a link that leads out of it`(
    behaviour: String
  ) throws {
    let (old, new) = (try AppDevice(["kept": "text", "behaviour": behaviour]), try AppDevice())
    let error = archiveError { try Migration(from: try old.source()).arrive(at: try new.importer()) }
    guard behaviour == "link out" else {
      expect(error == nil && content("\(new.app.containerPath)/Documents/kept") == "text")
      return
    }
    expect(error?.code == .importFailed && error?.description.contains("replaced 'Documents'") == true)
    expect(new.app.importRecord?.failure?.code, is: 2)
    expect(new.documents.isEmpty)
  }

  @Test func `an unknown option, an unknown platform and an export without data are noted once on each side`() throws {
    let old = try AppDevice(["kept": "text", "export": "nothing"])
    let new = try AppDevice(program: "OnlyImporting")
    let (oldNews, newNews) = (News(), News())
    var options = AppImporter.Options()
    options.requested = [AppRequest.Option(name: "quality", value: [])]
    options.platform = "other"
    let importer = try AppImporter(app: AppDevice.identifier, home: try new.scratch.home(), options: options) {
      newNews.note($0)
    }
    let migration = try Migration(from: try old.source(oldNews), options: ["quality": "", "count": "1"])
    expect(migration.offer.items, is: 2, "the items with data")
    _ = try importer.judge(
      migration.offer, held: Tally(), on: importer.terms(of: Migration.transfer, keys: Migration.keys))
    try migration.arrive(at: importer)
    let both = [
      "the exporter of org.example.test does not know the option 'quality'; it knows 'count', 'names', 'path'",
      "the exporter of org.example.test has appended nothing, although the app has data",
    ]
    expect(oldNews.notices, is: both)
    expect(newNews.notices, is: ["the exporter gets the platform 'other', which is neither android nor linux"] + both)
    expect(content("\(new.app.containerPath)/Documents/arrived"), is: "yes", "the importer has run")
    // An app without data exports nothing.
    let empty = News()
    _ = try Migration(from: try AppDevice().source(empty), platform: "nothing")
    expect(empty.notices, is: [])
  }

  @Test func `the rule that a description breaks is the reason, and not the end of the extension`() throws {
    let old = try AppDevice(["version": String(repeating: "v", count: 5_000)])
    let error = archiveError { _ = try Migration(from: try old.source()) }
    expect(
      error?.description.hasSuffix("(resourcesVersion) that is longer than 1,024 bytes"), is: true, "\(error as Any)")
  }
}
