import Foundation
import Glibc
import MigrationArchive
import MigrationSystem
import MigrationWire
import Synchronization
import Testing

@testable import MigrationHost

/// A device that has the test app, whose extension is a real program in a process of its own.
struct AppDevice {
  static let identifier = "org.example.test"
  static let group = "group.org.example.test"

  let scratch: Scratch
  let app: InstalledApp

  /// - Parameter files: what the app has in its Documents.
  init(_ files: [String: String] = [:]) throws {
    scratch = try Scratch()
    var bundle = SampleBundle(Self.identifier, groups: [Self.group])
    bundle.spoil = { path in
      let program = "\(path)/Extensions/Migration.appex/Migration"
      try FileManager.default.removeItem(atPath: program)
      try FileManager.default.copyItem(atPath: try Self.program, toPath: program)
    }
    app = try scratch.install(bundle).prepared()
    for (name, text) in files { try write(text, to: "\(app.containerPath)/Documents/\(name)") }
  }

  /// The program is beside that of the tests.
  private static var program: String {
    get throws {
      let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      return URL(filePath: tests).deletingLastPathComponent().appending(path: "TestAppExtension").path
    }
  }

  var documents: [String: String?] { tree("\(app.containerPath)/Documents") }
  var groupPath: String { "\(scratch.path)/home/groups/\(Self.group)" }

  func source(_ news: News = News(), idleLimit: Double? = nil) throws -> AppSource {
    try AppSource(app: Self.identifier, home: try scratch.home(), idleLimit: idleLimit) { news.note($0) }
  }

  func sink(_ news: News = News(), replaces: Bool = false) throws -> AppSink {
    var wishes = AppSink.Wishes()
    wishes.replaces = replaces
    return try AppSink(app: Self.identifier, home: try scratch.home(), wishes: wishes) { news.note($0) }
  }

  /// Whether nobody has the app's lock.
  var isFree: Bool { (try? app.holder()) == .some(nil) }
}

/// What the host of an extension had to tell.
final class News: Sendable {
  private let state = Condition<(lines: [String], notices: [String])>(([], []))

  func note(_ news: HostNews) {
    state.withLock { state in
      switch news {
      case .output(let output): state.lines.append(String(decoding: output.line, as: UTF8.self))
      case .notice(let text): state.notices.append(text)
      }
    }
    state.broadcast()
  }

  var lines: [String] { state.withLock { $0.lines } }
  var notices: [String] { state.withLock { $0.notices } }

  /// Returns once the extension has written a line.
  func wait(for line: String) { _ = state.wait { $0.lines.contains(line) ? true : nil } }
}

/// One way through memory from an app's exporter to another one's importer.
struct Migration {
  let offer: Offer
  let outlet: MemoryOutlet
  let packer: FramePacker

  /// Asks the exporter of a source for everything; `source` has to have been prepared by nobody.
  init(
    from source: AppSource, platform: String = "linux", options: [String: String] = [:],
    outlet: MemoryOutlet = MemoryOutlet()
  ) throws {
    let summary = try source.prepare { outlet.isStopped }
    offer = Offer(
      transfer: nil, contents: summary.contents, items: summary.total.items, bytes: summary.total.bytes,
      allocated: summary.allocated, flags: summary.flags)
    self.outlet = outlet
    packer = FramePacker(outlet: outlet, sealer: SumSealer(), keys: Self.keys, held: HeldItems())
    try source.export(
      to: packer,
      for: AppRequest(
        bundleIdentifier: AppDevice.identifier, platform: platform,
        options: options.map { AppRequest.Option(name: $0.key, value: Array($0.value.utf8)) }))
  }

  static let keys = TransferKeys(tagKey: 0x40, hashKey: 0x5051_5253)
  static let transfer: TransferID = 0xABC

  /// Stages what was exported, and lets the importer have it.
  func arrive(at sink: AppSink, progress: (ImportProgress) -> Void = { _ in }) throws {
    try sink.admit(offer, held: Tally())
    let sealer = SumSealer()
    let staging =
      try sink.recover(offer, transfer: Self.transfer, keys: Self.keys, sealer: sealer)
      ?? sink.stage(offer, transfer: Self.transfer, keys: Self.keys)
    staging.beginSession(offer)
    let writer = StagingWriter(staging, sealer: sealer)
    for frame in outlet.frames { try writer.write(frame.span, entries: 0..<frame.count) }
    try staging.complete(packer.finish) { _ in }
    _ = try sink.importItems(of: staging, progress: progress)
    try sink.clear(Self.transfer)
  }
}

/// Keeps every frame.
final class MemoryOutlet: FrameOutlet {
  private let state = Mutex<(frames: [[UInt8]], isStopped: Bool)>(([], false))
  /// For how many seconds the host is away once, as soon as the first append is answered.
  private let absence: Mutex<(hasBegun: Bool, seconds: UInt32)>

  init(absence: UInt32 = 0) { self.absence = Mutex((false, absence)) }

  var frames: [[UInt8]] { state.withLock { $0.frames } }

  /// Asked for before the host looks for what its extension says.
  var isStopped: Bool {
    let seconds = absence.withLock { absence in
      guard absence.hasBegun else { return 0 as UInt32 }
      defer { absence.seconds = 0 }
      return absence.seconds
    }
    if seconds > 0 { sleep(seconds) }
    return state.withLock { $0.isStopped }
  }

  func stop() { state.withLock { $0.isStopped = true } }

  func buffer() throws(ArchiveError) -> FrameBuffer {
    defer { absence.withLock { $0.hasBegun = true } }
    if isStopped { throw ArchiveError(.stopped, "the transfer is over") }
    return FrameBuffer(capacity: Limits.plainLength)
  }

  func submit(_ frame: consuming FrameBuffer) throws(ArchiveError) {
    let bytes = Array(frame.bytes[..<frame.count])
    state.withLock { $0.frames.append(bytes) }
  }

  func drain() throws(ArchiveError) {}
  // A file that does not hold still is looked at again later; here as soon as its time stamp can have changed.
  func pause(seconds: Double) throws(ArchiveError) { usleep(UInt32(min(seconds, 0.03) * 1e6)) }
  func unsent(_ unsent: Unsent) throws(ArchiveError) {}
  func skipped(items: UInt64, bytes: UInt64) {}
}

/// A keyed hash in the place of a real seal.
private final class SumSealer: ChunkSealing {
  func seal(place: [UInt8], data: RawSpan) -> ChunkSeal {
    ChunkSeal(nonceHigh: 1, nonceLow: 1, tag: tag(place, data))
  }

  func verify(_ seal: ChunkSeal, place: [UInt8], data: RawSpan) -> Bool { seal.tag == tag(place, data) }

  private func tag(_ place: [UInt8], _ data: RawSpan) -> UInt128 {
    var hash = SipHash(key: 0x1234)
    hash.combine(place)
    hash.combine(data.withUnsafeBytes { Array($0) })
    return hash.finish()
  }
}

/// What kind of error `body` throws, with its description; nil if it throws none.
func archiveError(_ body: () throws -> Void) -> ArchiveError? {
  do {
    try body()
    return nil
  } catch let error as ArchiveError {
    return error
  } catch {
    Issue.record("\(error)")
    return nil
  }
}
