import Foundation
import Glibc
import MigrationArchive
import MigrationSystem
import MigrationWire
import Synchronization
import TestSupport
import Testing

@testable import MigrationHost

/// Against the real process of an extension.
@Suite struct MigrationTests {
  @Test func `what an app has arrives, and its status says so`() throws {
    let (old, new) = (try AppDevice(["kept": "text", "version": "2.7"]), try AppDevice())
    try write("shared", to: "\(old.groupPath)/shared")
    let news = News()
    let migration = try Migration(from: try old.source())
    var progress: [ImportProgress] = []
    try migration.arrive(at: try new.importer(news)) { progress.append($0) }
    #expect(new.documents == old.documents)
    #expect(content("\(new.groupPath)/shared") == "shared")
    #expect(news.lines == ["importing version 2.7 of org.example.test"])
    let record = try #require(new.app.importRecord)
    #expect(record.failure == nil)
    #expect(progress.first?.done == 0 && progress.last?.done == progress.last?.total)
    #expect(try !new.app.isUnsettled)
    #expect(old.isFree && new.isFree)
    #expect(!exists("\(new.scratch.path)/home/scratch/org.example.test"))
  }

  @Test func `many appends at once arrive, and of two at one path one is refused`() throws {
    let (old, new) = (try AppDevice(["kept": "text"]), try AppDevice())
    let news = News()
    let migration = try Migration(from: try old.source(news), platform: "at once")
    #expect(news.lines == ["refused 1"])
    try migration.arrive(at: try new.importer())
    #expect(new.documents.count == old.documents.count + 300, "the files, and the folder that they are in")
  }

  @Test(arguments: [("throw", "the author's own words"), ("crash", "signal 11")])
  func `an exporter that fails ends the transfer, and its reason is told`(platform: String, reason: String) throws {
    let old = try AppDevice(["kept": "text"])
    let error = archiveError { _ = try Migration(from: try old.source(), platform: platform) }
    #expect(error?.code == .exportFailed && error?.description.contains(reason) == true, "\(error as Any)")
    #expect(old.isFree)
  }

  @Test(arguments: ["hang", "spin"])
  func `an exporter that appends nothing is ended`(platform: String) throws {
    let old = try AppDevice(["kept": "text"])
    let error = archiveError { _ = try Migration(from: try old.source(idleLimit: .seconds(1)), platform: platform) }
    #expect(error?.description.contains("appended nothing for 1 second and") == true, "\(error as Any)")
    #expect(old.isFree)
  }

  @Test func `a host that did not run for a while does not take that for the exporter's idleness`() throws {
    let old = try AppDevice(["kept": "text"])
    try write("shared", to: "\(old.groupPath)/shared")
    // Away once, as soon as the first append is answered; the host asks before it looks for what its extension says.
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
    #expect(migration.result.finish.total.items == 4)
  }

  @Test(arguments: [("swallow", true), ("return", true), ("for ever", false)])
  func `only an exporter that lets its cancellation pass is not killed`(platform: String, isKilled: Bool) throws {
    let old = try AppDevice(["kept": "text"])
    let (outlet, news) = (Outlet(), News())
    let stopper = try RunningThread("stopper") {
      defer { outlet.stop() }
      try news.wait(for: "appending")
    }
    let error = archiveError { _ = try Migration(from: try old.source(news), platform: platform, outlet: outlet) }
    try stopper.value()
    #expect(error?.code == .stopped)
    #expect(news.notices.contains { $0.contains("was killed") } == isKilled, "\(news.notices)")
    #expect(old.isFree)
  }

  @Test func `an importer that throws leaves an empty container, the group as it is, and its words`() throws {
    let (old, new) = (try AppDevice(["kept": "text", "behaviour": "throw"]), try AppDevice())
    let migration = try Migration(from: try old.source())
    let error = archiveError { try migration.arrive(at: try new.importer()) }
    #expect(error?.code == .importFailed)
    #expect(new.documents.isEmpty)
    #expect(content("\(new.groupPath)/half") == "half")
    let failure = try #require(new.app.importRecord?.failure)
    #expect(failure.domain == "org.example.test" && failure.code == 7 && failure.text == "the author's own words")
    // The same transfer once more: what the importer had moved away is sent again.
    try write("", to: "\(old.app.containerPath)/Documents/behaviour")
    try Migration(from: try old.source()).arrive(at: try new.importer())
    #expect(new.documents == old.documents)
    let record = try #require(new.app.importRecord)
    #expect(record.failure == nil)
  }

  @Test func `whatever an importer has put in the place of what arrived, the next try finds it out`() throws {
    let names = ["fifo", "directory", "link", "changed", "closed", "tree/inner", "kept"]
    let texts = names.map { ($0, "text of \($0)") } + [("behaviour", "spoil")]
    let (old, new) = (try AppDevice(Dictionary(uniqueKeysWithValues: texts)), try AppDevice())
    #expect(
      archiveError { try Migration(from: try old.source()).arrive(at: try new.importer()) }?.code == .importFailed)
    #expect(new.documents.isEmpty)
    try write("", to: "\(old.app.containerPath)/Documents/behaviour")
    try Migration(from: try old.source()).arrive(at: try new.importer())
    #expect(new.documents == old.documents)
  }

  @Test(arguments: [("crash", "signal 11"), ("leave", "status 0")])
  func `an importer that ends without a word has failed`(behaviour: String, reason: String) throws {
    let (old, new) = (try AppDevice(["kept": "text", "behaviour": behaviour]), try AppDevice())
    let migration = try Migration(from: try old.source())
    let error = archiveError { try migration.arrive(at: try new.importer()) }
    #expect(error?.code == .importFailed && error?.description.contains(reason) == true, "\(error as Any)")
    #expect(new.documents.isEmpty)
    #expect(new.app.importRecord?.failure?.domain == ReportedError.systemDomain)
    #expect(try !new.app.isUnsettled)
  }

  @Test(arguments: ["stay", "ignore"])
  func `an import that is broken off is undone, whatever the importer does`(behaviour: String) throws {
    let (old, new) = (try AppDevice(["kept": "text", "behaviour": behaviour]), try AppDevice(["own": "data"]))
    let (migration, news) = (try Migration(from: try old.source()), News())
    let importer = try new.importer(news, replaces: true)
    let stopper = try RunningThread("stopper") {
      defer { importer.interrupt() }
      try news.wait(for: "importing version 1.0 of org.example.test")
    }
    let error = archiveError { try migration.arrive(at: importer) }
    try stopper.value()
    #expect(error?.code == .cancelled)
    #expect(new.documents == ["own": "data"])
    #expect(new.app.importRecord?.failure == .cancelled)
  }

  @Test func `a container with data is refused, and nothing is touched`() throws {
    let (old, new) = (try AppDevice(["kept": "text"]), try AppDevice(["own": "data"]))
    let migration = try Migration(from: try old.source())
    let error = archiveError { try migration.arrive(at: try new.importer()) }
    #expect(error?.code == .destination && error?.hint?.contains("--replace") == true)
    #expect(new.documents == ["own": "data"])
    #expect(new.app.importRecord == nil)
  }

  @Test func `an app that is being migrated is locked, until nobody has its source any more`() throws {
    let old = try AppDevice()
    do {
      let source = try old.source()
      #expect(throws: HostError.self) { try old.app.lock(.running) }
      withExtendedLifetime(source) {}
    }
    _ = try old.app.lockOnceFree(.running)
  }

  @Test(.enabled(if: Confinement.strength.contains(.attributes), "no mounts of one's own here"))
  func `modes, owners and times outside cannot be changed`() throws {
    let old = try AppDevice(["kept": "text"])
    let outside = "\(old.scratch.path)/outside"
    for place in [outside, "\(old.app.containerPath)/Documents/kept"] {
      try write("secret", to: outside)
      let news = News()
      _ = try Migration(from: try old.source(news), platform: "attributes", options: ["path": place])
      #expect(news.lines.count == 3 && news.lines.allSatisfy { $0.hasSuffix(": refused") }, "\(news.lines)")
    }
    #expect(mode(outside) == 0o644)
  }

  @Test(.enabled(if: Confinement.strength.isSuperset(of: [.files, .calls]), "no Landlock or no filter of calls here"))
  func `what no rule about files covers is refused as well`() throws {
    let old = try AppDevice(["kept": "text"])
    let outside = "\(old.scratch.path)/outside"
    try write("secret", to: outside)
    let news = News()
    _ = try Migration(from: try old.source(news), platform: "escape", options: ["path": outside])
    #expect(news.lines.filter { !$0.hasSuffix(": refused") } == ["signal its own process: done"])
    #expect(news.lines.count == 12, "\(news.lines)")
  }

  @Test func `an extension that is not confined reaches what its user reaches, and that is said`() throws {
    let old = try AppDevice(["kept": "text"])
    let outside = "\(old.scratch.path)/outside"
    try write("secret", to: outside)
    let news = News()
    _ = try Migration(
      from: try old.source(news, isConfined: false), platform: "look", options: ["path": outside])
    #expect(news.lines.allSatisfy { $0.lowercased().hasSuffix(": done") }, "\(news.lines)")
    #expect(news.notices == ["the app's extension is not confined: it may do what you may"])
    #expect(old.isFree && mode(outside) == 0o600)
  }

  @Test func `paths whose directories would fill the memory end the export`() throws {
    let old = try AppDevice(["kept": "text"])
    let error = archiveError { _ = try Migration(from: try old.source(), platform: "deep") }
    #expect(error?.code == .exportFailed, "\(error as Any)")
  }
}
