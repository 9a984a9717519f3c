import Expectations
import Foundation
import Glibc
import MigrationArchive
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationHost

/// The checks before two devices interact, with the real process of an extension.
@Suite struct ReadinessTests {
  /// The offer contained folders.
  private struct NoApp: Error {}

  private static let file = "the bundle is invalid: 'Extensions/Migration.appex/"

  @Test(
    arguments: [
      ("OnlyExporting", "OnlyExporting': the extension of org.example.test can export, and cannot import"),
      ("Neither", "Neither': the extension of org.example.test can neither export nor import"),
      ("Crashing", "it was ended by signal 11 (segmentation fault)"), ("Leaving", "it ended with status 3"),
      ("Closing", "it gave up its channel, and was ended"),
      ("Trapping", "did not start as it should: it was ended by signal"),
    ])
  func `an app whose extension cannot import is refused for an import`(program: String, reason: String) throws {
    let device = try AppDevice(program: program)
    let error = try #require(thrown { _ = try device.importer() } as? Failure)
    expect(error.code, is: .unfitApp)
    expect(error.description.hasPrefix(Self.file) && error.description.contains(reason), "\(error)")
    expect(error.hint?.contains("can import"), is: true)
    expect(device.isFree)
    expect(!exists(device.app.stagingPath), "no staging directory was created")
    expect(!exists("\(device.scratch.path)/home/scratch/org.example.test"))
  }

  @Test(
    arguments: [
      ("OnlyImporting", "can import, and cannot export"), ("Neither", "none of the protocols"),
      ("Trapping", "did not start as it should: it was ended by signal"),
    ])
  func `an app whose extension cannot export is refused for an export`(program: String, reason: String) throws {
    let device = try AppDevice(program: program)
    let error = try #require(thrown { _ = try device.source() } as? Failure)
    expect(error.code, is: .unfitApp)
    expect(error.description.hasPrefix(Self.file) && error.description.contains(reason), "\(error)")
    expect(device.isFree)
  }

  @Test func `an extension with one ability suffices for that ability`() throws {
    let (old, new) = (
      try AppDevice(["kept": "text"], program: "OnlyExporting"), try AppDevice(program: "OnlyImporting")
    )
    try Migration(from: try old.source()).arrive(at: try new.importer())
    expect(content("\(new.app.containerPath)/Documents/arrived"), is: "yes")
  }

  @Test func `a program whose loader is missing is reported as such`() throws {
    let device = try AppDevice()
    let program = device.program
    try write("#!/no/such/loader\n", to: program, mode: 0o755)
    let error = try #require(thrown { _ = try device.importer() } as? Failure)
    expect(error.code == .unfitApp && error.description.contains("the loader that it names is not"), "\(error)")
  }

  @Test func `a program that the kernel cannot run is reported as such`() throws {
    let device = try AppDevice()
    let program = device.program
    try write("no program at all", to: program, mode: 0o755)
    for error in [thrown { _ = try device.importer() }, thrown { _ = try device.source() }] {
      expect((error as? Failure)?.code, is: .unfitApp, "\(error as Any)")
    }
  }

  @Test func `a disk that fails before the program runs is not the bundle's fault`() throws {
    let device = try AppDevice()
    let place = "\(device.scratch.path)/home/scratch"
    try? FileManager.default.removeItem(atPath: place)
    try write("a file", to: place)
    for thrown in [thrown { _ = try device.importer() }, thrown { _ = try device.source() }] {
      let error = try #require(thrown as? Failure)
      expect(error.code == .failed && error.description.contains("scratch"), "\(error)")
      expect(!error.description.contains("not fit"), "\(error)")
    }
    expect(device.isFree)
  }

  @Test(
    arguments: [
      (SystemError(errno: ENOENT, operation: "start it"), .unfitApp),
      (SystemError(errno: EACCES, operation: "start it"), .unfitApp),
      (SystemError(errno: ENOEXEC, operation: "start it"), .unfitApp),
      (SystemError(errno: EAGAIN, operation: "start it"), .failed),
      (SystemError(errno: EAGAIN, operation: "make it"), .failed),
      (SystemError(errno: ENOENT, operation: "enter its directory"), .failed),
      (SystemError(errno: ENOSPC, operation: "make a directory"), .noSpace),
    ] as [(SystemError, Failure.Code)])
  func `a refusal of the kernel is the program's fault, or this device's`(
    cause: SystemError, code: Failure.Code
  ) throws {
    let device = try AppDevice()
    let site = try device.scratch.home().site(of: AppDevice.identifier) { _ in }
    let error = ExtensionLaunch(site: site, observe: { _ in }).failure(cause)
    let told = Failure.unfit(site, error, wanted: "import")
    expect(told.code == code && told.description.hasSuffix(cause.words), "\(told)")
    expect(told.description.hasPrefix(Self.file), is: (code == .unfitApp))
    let full = Failure(.storage, "it cannot be made", hint: "Make room.", cause: cause)
    let kept = Failure.unfit(site, full, wanted: "import")
    expect(kept.code == (code == .noSpace ? .noSpace : .failed) && kept.hint == "Make room.")
    expect(kept.description, is: "it cannot be made: \(cause.words)")
  }

  @Test func `the time in which a start is stopped does not count, and the limit can be lifted`() throws {
    let device = try AppDevice(program: "Stopping")
    let news = News()
    let site = try device.scratch.home().site(of: AppDevice.identifier) { _ in }
    var launch = ExtensionLaunch(site: site) { news.note($0) }
    launch.patience = 1.5
    let waker = try RunningThread("waker") {
      try news.wait(for: "stopping")
      // The test waits to see that no event follows.
      sleep(5)
      kill(try #require(news.lines.compactMap { Int32($0) }.first), SIGCONT)
    }
    expect(try launch.probe(.probing, until: StopSignal()), is: [.exports, .imports])
    try waker.value()
  }

  @Test func `a start has a limit, which can be lifted`() throws {
    let silent = try AppDevice(program: "Silent")
    var limited = ExtensionLaunch(site: try silent.scratch.home().site(of: AppDevice.identifier) { _ in }) { _ in }
    limited.patience = 0
    let error = archiveError { _ = try limited.probe(.probing, until: StopSignal()) }
    expect(error?.description.contains("did not say within 0 seconds what it can do"), is: true, "\(error as Any)")
    let device = try AppDevice()
    var launch = ExtensionLaunch(site: try device.scratch.home().site(of: AppDevice.identifier) { _ in }) { _ in }
    launch.patience = 0
    launch.idleLimit = .off
    expect(try launch.probe(.probing, until: StopSignal()), is: [.exports, .imports])
  }

  @Test func `a stop signal ends a start`() throws {
    let device = try AppDevice(program: "Silent")
    let stop = StopSignal()
    let news = News()
    let stopper = try RunningThread("stopper") {
      defer { stop.set() }
      try news.wait(for: "silent")
    }
    for isSource in [false, true] {
      let error = thrown {
        if isSource {
          _ = try AppSource(app: AppDevice.identifier, home: try device.scratch.home(), until: stop) { news.note($0) }
        } else {
          _ = try AppImporter(app: AppDevice.identifier, home: try device.scratch.home(), until: stop) { news.note($0) }
        }
      }
      expect((error as? Failure)?.code, is: .stopped, "\(error as Any)")
    }
    try stopper.value()
    expect(device.isFree)
  }

  @Test(.enabled(if: Confinement.strength.contains(.files), "no Landlock here"))
  func `a probe changes none of the app's data`() throws {
    let device = try AppDevice(["kept": "text"], program: "Writing")
    let before = tree(device.app.containerPath)
    let news = News()
    _ = try device.importer(news, replaces: true)
    expect(news.lines, is: ["write inside: refused"])
    expect(tree(device.app.containerPath), is: before)
  }

  @Test func `a missing estimate has a limit of its own, and a notice at half of it`() throws {
    let old = try AppDevice(["kept": "text", "estimate": "hang"])
    let news = News()
    let source = try old.source(news, idleLimit: .seconds(600), descriptionLimit: 2)
    let error = archiveError { _ = try Migration(from: source) }
    expect(error?.code, is: .exportFailed)
    expect(error?.description.contains("did not say within 2 seconds how much it will export"), is: true)
    expect(news.notices.filter { $0.contains("has not said for 1 second") }.count, is: 1, "\(news.notices)")
  }

  @Test func `a notice about an exporter comes at half of the limit, once in each silence`() throws {
    let old = try AppDevice(["kept": "text"])
    let news = News()
    _ = try Migration(from: try old.source(news, idleLimit: .seconds(4)), platform: "pause", options: ["count": "2.5"])
    let notices = news.notices.filter { $0.contains("has appended nothing for 2 seconds; it is ended after 4 seconds") }
    expect(notices.count, is: 2, "\(news.notices)")
  }

  @Test func `without a limit an exporter may be silent`() throws {
    let old = try AppDevice(["kept": "text"])
    let news = News()
    let migration = try Migration(
      from: try old.source(news, idleLimit: .off, descriptionLimit: 0.1), platform: "pause", options: ["count": "1.5"])
    expect(migration.result.finish.total.items, is: 3)
    expect(!news.notices.contains { $0.contains("appended nothing") || $0.contains("has not said") })
  }

  @Test func `the time in which an exporter is stopped does not count`() throws {
    let old = try AppDevice(["kept": "text"])
    let news = News()
    let source = try old.source(news, idleLimit: .seconds(2))
    let waker = try RunningThread("waker") {
      try news.wait(for: "stopping")
      // The test waits to see that no event follows.
      sleep(5)
      let number = try #require(news.lines.compactMap { Int32($0) }.first)
      kill(number, SIGCONT)
    }
    let migration = try Migration(from: source, platform: "stop")
    try waker.value()
    expect(migration.result.finish.total.items, is: 2)
  }

  @Test(
    arguments: [
      ("1 (a) S 2", false), ("1 (a) T 2", true), ("1 (a) t 2", true), ("1 (T) T) R 2", false), ("1 (S) ) t 2", true),
      ("", false), ("1 (a)", false),
    ])
  func `the state of a process is read behind its name`(line: String, isStopped: Bool) {
    expect(ExtensionProcess.isStopped(Array(line.utf8)), is: isStopped)
  }

  @Test(arguments: [("", true), ("1.0", false)])
  func `an empty version causes a notice`(version: String, isTold: Bool) throws {
    let old = try AppDevice(["kept": "text", "version": version])
    let news = News()
    _ = try Migration(from: try old.source(news))
    expect(news.notices.contains { $0.contains("names no version of its data") }, is: isTold, "\(news.notices)")
  }

  @Test(arguments: [(1_000_000, false), (2_000_000, true)])
  func `many temporary files of an exporter cause a notice`(count: Int, isTold: Bool) throws {
    let old = try AppDevice(["kept": "text"])
    let news = News()
    _ = try Migration(from: try old.source(news), platform: "scratch", options: ["count": "\(count)"])
    expect(news.notices.contains { $0.contains("has left 1 item in its temporary directory") }, is: isTold)
  }

  @Test(
    arguments: [
      (nil, "linux", ""), (SourceClaim(platform: "android"), "android", "googlePlay"),
      (SourceClaim(platform: "android", store: "other"), "android", "other"),
      (SourceClaim(platform: "android", store: ""), "android", ""), (SourceClaim(platform: "linux"), "linux", ""),
    ] as [(SourceClaim?, String, String)])
  func `an importer learns the source's claim`(claim: SourceClaim?, platform: String, store: String) throws {
    let (old, new) = (try AppDevice(["kept": "text", "behaviour": "origin"]), try AppDevice())
    let migration = try Migration(from: try old.source(claim: claim))
    guard case .app(let identity) = migration.offer.contents else { throw NoApp() }
    expect(identity.platform == platform && identity.store == store)
    let news = News()
    try migration.arrive(at: try new.importer(news))
    expect(news.lines.last, is: "from \(platform), '\(store)'")
  }

  @Test func `a bundle names the origin of its data, and the user may claim another`() throws {
    let old = try AppDevice(info: ["PeerPlatform": "android"])
    for (claim, platform, store) in [
      (nil, "android", "googlePlay"), (SourceClaim(platform: "linux"), "linux", ""),
    ] as [(SourceClaim?, String, String)] {
      let summary = try old.source(claim: claim).prepare(until: StopSignal())
      guard case .app(let identity) = summary.contents else { throw NoApp() }
      expect(identity.platform == platform && identity.store == store)
    }
  }

  @Test func `data of an edition for another platform is accepted by its alias`() throws {
    let old = try AppDevice(["kept": "text"])
    let alias = [
      "BundleIdentifier": AppDevice.identifier + ".old", "Platform": "android", "StoreIdentifier": "googlePlay",
    ]
    let new = try AppDevice(info: ["PeerAliases": [alias]])
    let importer = try new.importer()
    let terms = importer.terms(of: Migration.transfer, keys: Migration.keys)
    for (platform, isTaken) in [("android", true), ("linux", false)] {
      let source = try old.source(claim: SourceClaim(platform: platform))
      let summary = try source.prepare(until: StopSignal())
      guard case .app(let own) = summary.contents else { throw NoApp() }
      let identity = AppIdentity(
        bundleIdentifier: own.bundleIdentifier + ".old", store: own.store, platform: own.platform, version: own.version)
      let offer = Offer(
        contents: .app(identity), items: 1, bytes: 1, allocated: 1, flags: .estimated)
      let error = archiveError { _ = try importer.judge(offer, held: Tally(), on: terms) }
      expect((error == nil), is: isTaken, "\(error as Any)")
    }
  }

  @Test func `an author gets the usual reason for a program that ends, or that is still written`() throws {
    let device = try AppDevice(program: "Leaving")
    var site = try device.scratch.home().site(of: AppDevice.identifier) { _ in }
    (site.draft, site.isConfined) = (site.bundle.path, false)
    let launch = ExtensionLaunch(site: site) { _ in }
    let hint = { (error: Failure?) in error.flatMap { Failure.unfit(site, $0, wanted: "export").hint } ?? "" }
    let probed = { archiveError { _ = try launch.probe(.probing, until: StopSignal()) } }
    expect(hint(probed()).contains("@main"))
    try write("#!/bin/sh\nexit 127\n", to: device.program, mode: 0o755)
    expect(hint(probed()).contains("--static-swift-stdlib"))
    expect(hint(launch.failure(SystemError(errno: ETXTBSY, operation: "start it"))).hasPrefix("Wait until the build"))
  }
}
