import Foundation
import Glibc
import MigrationArchive
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationHost

/// A device with the test app, whose extension is a real program in a process of its own.
struct AppDevice {
  static let identifier = "org.example.test"
  static let group = "group.org.example.test"

  let scratch: Scratch
  let app: InstalledApp

  /// - Parameters:
  ///   - files: the files in the app's Documents.
  ///   - program: the name of its extension's program, which determines the extension's behaviour
  ///     at its start.
  init(_ files: [String: String] = [:], program: String = "Migration", info: [String: Any] = [:]) throws {
    scratch = try Scratch()
    var bundle = SampleBundle(Self.identifier, groups: [Self.group])
    bundle.info.merge(info) { $1 }
    bundle.extensionInfo["CFBundleExecutable"] = program
    bundle.spoil = { path in
      let folder = "\(path)/Extensions/Migration.appex"
      try FileManager.default.removeItem(atPath: "\(folder)/Migration")
      try FileManager.default.copyItem(atPath: try builtProgram("TestAppExtension"), toPath: "\(folder)/\(program)")
    }
    app = try scratch.install(bundle).prepared()
    for (name, text) in files { try write(text, to: "\(app.containerPath)/Documents/\(name)") }
  }

  /// The path of the program of the installed extension.
  var program: String { String(decoding: app.bundle.migrationExtension?.executable ?? [], as: UTF8.self) }
  var documents: [String: String?] { tree("\(app.containerPath)/Documents") }
  var groupPath: String { "\(scratch.path)/home/groups/\(Self.group)" }

  func source(
    _ news: News = News(), claim: SourceClaim? = nil, idleLimit: IdleLimit = .standard,
    descriptionLimit: Double = ExtensionWatch.descriptionLimit, isConfined: Bool = true,
    attributeGuard: Confinement.AttributeGuard? = Confinement.usualGuard
  ) throws -> AppSource {
    var site = try scratch.home().site(of: Self.identifier) { news.note($0) }
    site.isConfined = isConfined
    site.attributeGuard = attributeGuard
    return try AppSource(
      site, claim: claim, idleLimit: idleLimit, descriptionLimit: descriptionLimit
    ) { news.note($0) }
  }

  func importer(_ news: News = News(), replaces: Bool = false) throws -> AppImporter {
    var options = AppImporter.Options()
    options.replaces = replaces
    return try AppImporter(app: Self.identifier, home: try scratch.home(), options: options) { news.note($0) }
  }

  /// Whether the app's lock is free.
  var isFree: Bool { (try? app.holder()) == .some(nil) }
}

/// The reports of an extension's host.
final class News: Sendable {
  private let state = Condition<(lines: [String], notices: [String], refused: [String])>(([], [], []))

  func note(_ news: HostNews) {
    state.withLock { state in
      switch news {
      case .output(let output): state.lines.append(String(decoding: output.line, as: UTF8.self))
      case .notice(let text), .weakness(let text): state.notices.append(text)
      case .refused(let error): state.refused.append(error.text)
      case .appended: break
      }
    }
    state.broadcast()
  }

  var lines: [String] { state.withLock { $0.lines } }
  var notices: [String] { state.withLock { $0.notices } }
  /// The answers to refused appends.
  var refused: [String] { state.withLock { $0.refused } }

  /// Returns when the extension has written a line.
  func wait(for line: String) throws {
    _ = try state.wait(for: "the line '\(line)'") { $0.lines.contains(line) ? true : nil }
  }
}

/// A path through memory from an app's exporter to another app's importer.
struct Migration {
  let offer: Offer
  let outlet: Outlet
  let result: ExportResult

  /// Asks the exporter of a source for everything; `source` must not have been prepared.
  init(
    from source: AppSource, platform: String = "linux", options: [String: String] = [:],
    outlet: Outlet = Outlet()
  ) throws {
    try self.init(fromAny: source, platform: platform, options: options, outlet: outlet)
  }

  /// The same with any source of an app's data.
  init(
    fromAny source: any ItemSource, platform: String = "linux", options: [String: String] = [:],
    outlet: Outlet = Outlet()
  ) throws {
    let summary = try source.prepare(until: outlet.stopSignal)
    offer = Offer(summary)
    self.outlet = outlet
    let settings = ExportSettings(listener: outlet, keys: Self.keys, held: HeldItems())
    let request = AppRequest(
      bundleIdentifier: AppDevice.identifier, platform: platform,
      options: options.map { AppRequest.Option(name: $0.key, value: Array($0.value.utf8)) })
    let isOver = StopSignal()
    var reader: RunningThread<Void>?
    defer {
      isOver.set()
      _ = try? reader?.value()
    }
    result = try source.export(settings, for: request) { frames in
      reader = try? RunningThread("reader") { outlet.read(frames) { isOver.isSet } }
    }
  }

  static let keys = TransferKeys(hashKey: 0x5051_5253)
  static let transfer: TransferID = 0xABC

  /// Stages the exported items, and gives them to the importer.
  func arrive(at importer: AppImporter, progress: (ImportProgress) -> Void = { _ in }) throws {
    let terms = importer.terms(of: Self.transfer, keys: Self.keys)
    _ = try importer.judge(offer, held: Tally(), on: terms)
    let staging =
      try importer.recover(offer, transfer: Self.transfer, keys: Self.keys)
      ?? importer.area.stage(offer, on: terms)
    staging.beginSession(offer)
    let writer = StagingWriter(staging)
    for frame in outlet.frames { try writer.write(frame.span, entries: 0..<frame.count) }
    try staging.complete(result.finish) { _ in }
    _ = try importer.importItems(of: staging, progress: progress)
    try staging.remove()
  }
}

/// The archive error that `body` throws; nil if it throws none.
func archiveError(_ body: () throws -> Void) -> Failure? {
  let error = thrown(by: body)
  if let error, !(error is Failure) { Issue.record("\(error)") }
  return error as? Failure
}
