import Expectations
import Foundation
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// Importers that have a room for each part, by the part's name.
private final class Rooms: Importers {
  let area: StagingArea
  private let rooms: [String: FolderImporter]
  /// The reasons for which importers cannot be had.
  let troubles = Mutex<[String: Failure]>([:])
  /// The reasons for which parts are refused.
  let refusals: [String: Failure]
  /// The same from the moment at which an importer is taken.
  let laterRefusals = Mutex<[String: Failure]>([:])
  /// The parts whose importers were taken, which a judge finds in use.
  private let inUse = Mutex<Set<String>>([])
  /// The importers that were taken.
  let taken = Mutex<[String]>([])
  private let room: UInt64?

  init(
    _ main: String, _ rooms: [String: String] = [:], refusing refusals: [String: Failure] = [:],
    room: UInt64? = nil
  ) throws {
    let area = try StagingArea(at: Array(main.utf8))
    self.area = area
    self.rooms = try rooms.mapValues { FolderImporter($0 == main ? area : try StagingArea(at: Array($0.utf8))) }
    self.refusals = refusals
    self.room = room
  }

  var request: AppRequest? { nil }
  var graceAtTheEnd: Double { 0 }

  func judge(of part: Part) throws(Failure) -> any PartJudge {
    if let refusal = refusals[part.name] { throw refusal }
    if taken.withLock({ !$0.isEmpty }), let refusal = laterRefusals.withLock({ $0[part.name] }) { throw refusal }
    if inUse.withLock({ $0.contains(part.name) }) { throw Failure(.appInUse, "it is being migrated") }
    return Judge(importer: try known(part), room: room)
  }

  func importer(of part: Part) throws(Failure) -> any Importer {
    if let trouble = troubles.withLock({ $0[part.name] }) { throw trouble }
    taken.withLock { $0.append(part.name) }
    inUse.withLock { _ = $0.insert(part.name) }
    return try known(part)
  }

  private func known(_ part: Part) throws(Failure) -> FolderImporter {
    guard let room = rooms[part.name] else { throw Failure(notTaken: part) }
    return room
  }

  /// Judges as its importer does, and on a small disk.
  private struct Judge: PartJudge {
    let importer: FolderImporter
    let room: UInt64?

    var existing: Existing? { importer.existing }
    var device: UInt64? { 1 }

    func judge(_ offer: Offer, held: Tally, on terms: TransferTerms) throws(Failure) -> OfferCheck {
      if let room, offer.allocated > room { throw Failure(.noSpace, "there is no room") }
      return try importer.judge(offer, held: held, on: terms)
    }
  }
}

extension Events {
  /// The parts that were not taken or have failed, with their exit codes.
  fileprivate var failedParts: [String] {
    all.compactMap { event in
      guard case .partEnded(let end) = event, case .failure(let failure) = end.result else { return nil }
      return "\(end.name) \(failure.kind.rawValue)"
    }
  }
}

/// A receiver whose importer depends on the part.
@Suite struct SeveralImportersTests {
  private let source: Scratch
  private let destination: Scratch
  private let memory: Scratch

  init() throws {
    (source, destination, memory) = (try Scratch(), try Scratch(), try Scratch())
    for name in ["a", "b", "c"] {
      source.write("\(name)/file", patternData(50_000, seed: UInt64(name.utf8.first!)))
      destination.makeDirectory("in-\(name)")
    }
  }

  private var sendingStore: TransferStore { TransferStore(home: memory.at("sending")) }
  private var receivingStore: TransferStore { TransferStore(home: memory.at("receiving")) }

  /// Rooms for these parts, beside the main one, which is the room of "a".
  private func rooms(
    _ names: [String] = ["a", "b", "c"], refusing refusals: [String: Failure] = [:], room: UInt64? = nil
  ) throws -> Rooms {
    try Rooms(
      destination.path("in-a"),
      Dictionary(uniqueKeysWithValues: names.map { ($0, destination.path("in-\($0)")) }), refusing: refusals, room: room
    )
  }

  private func receiver(_ rooms: Rooms) throws -> RunningReceiver {
    // The one before lets go when its last thread has ended.
    let deadline = soon()
    while true {
      do {
        return try RunningReceiver(destination, giveUpAfter: 30, store: receivingStore, importer: rooms)
      } catch let error as Failure where error.kind == .refused && BootInstant.now() < deadline {
        sched_yield()
      }
    }
  }

  private func sender(to receiver: RunningReceiver, code: PairingCode?) throws -> RunningSender {
    let sources = try ["a", "b", "c"].map { try FolderSource(paths: [source.at($0)]) }
    return try RunningSender(sources: sources, to: try receiver.port(), store: sendingStore, code: code)
  }

  private func hasArrived(_ name: String) -> Bool {
    destination.exists("in-\(name)/\(name)")
      && destination.content("in-\(name)/\(name)/file") == patternData(50_000, seed: UInt64(name.utf8.first!))
  }

  @Test func `each part of a plan goes to its own importer`() throws {
    let rooms = try rooms()
    let receiver = try receiver(rooms)
    let result = try sender(to: receiver, code: try receiver.events.code()).result()
    expect(result.failedParts, is: 0)
    expect(try receiver.result().total, is: Tally(items: 6, bytes: 150_000))
    for name in ["a", "b", "c"] {
      expect(hasArrived(name))
      expect(destination.names("in-\(name)"), is: [name])
    }
    expect(rooms.taken.withLock { $0 }, is: ["a", "b", "c"])
  }

  @Test func `a part that its importer refuses is named, and the others arrive`() throws {
    let rooms = try rooms(["a", "c"], refusing: ["a": Failure(.notInstalled, "no app a is installed")])
    let receiver = try receiver(rooms)
    let sender = try sender(to: receiver, code: try receiver.events.code())
    expect(try sender.result().failedParts, is: 2)
    expect(try receiver.result().failedParts, is: 2)
    expect(sender.events.failedParts, is: ["a 4", "b 4"])
    expect(receiver.events.failedParts, is: ["a 4", "b 4"])
    expect(hasArrived("c") && destination.names("in-a").isEmpty)
    expect(rooms.taken.withLock { $0 }, is: ["c"])
  }

  @Test func `a part that can no longer be taken at its turn is refused then`() throws {
    let rooms = try rooms()
    rooms.laterRefusals.withLock { $0["b"] = Failure(.exists, "the app b has data by now") }
    let receiver = try receiver(rooms)
    let sender = try sender(to: receiver, code: try receiver.events.code())
    expect(try sender.result().failedParts == 1 && receiver.result().failedParts == 1)
    expect(receiver.events.failedParts, is: ["b 4"])
    expect(rooms.taken.withLock { $0 } == ["a", "c"] && destination.names("in-b").isEmpty)
  }

  @Test func `a part whose importer cannot be had fails alone, and arrives in a later run without a code`() throws {
    let rooms = try rooms()
    rooms.troubles.withLock { $0["b"] = Failure(.appInUse, "the app b is running") }
    // A receiver holds its destination for as long as it is here.
    func failing() throws {
      let first = try receiver(rooms)
      let sending = try sender(to: first, code: try first.events.code())
      expect(try sending.result().failedParts, is: 1)
      expect(try first.result().failedParts, is: 1)
      expect(first.events.failedParts, is: ["b 4"])
    }
    try failing()
    expect(hasArrived("a") && hasArrived("c") && !destination.exists("in-b/b"))
    rooms.troubles.withLock { $0 = [:] }
    rooms.taken.withLock { $0 = [] }
    let second = try receiver(rooms)
    expect(try sender(to: second, code: nil).result().failedParts, is: 0)
    expect(try second.result().total, is: Tally(items: 6, bytes: 150_000))
    expect(hasArrived("b"))
    // The parts that had arrived are not touched again.
    expect(rooms.taken.withLock { $0 }, is: ["b"])
  }

  /// The receiver is stopped while the second part is sent.
  private func interrupted() throws {
    let barrier = Gateway()
    defer { barrier.open() }
    let receiver = try receiver(try rooms())
    let slow = try SlowSource(FolderSource(paths: [source.at("b")]), before: { barrier.pass() })
    let sources: [any ItemSource] = [
      try FolderSource(paths: [source.at("a")]), slow, try FolderSource(paths: [source.at("c")]),
    ]
    let sender = try RunningSender(
      sources: sources, to: try receiver.port(), store: sendingStore, code: try receiver.events.code())
    try barrier.waitUntilReached()
    expect(destination.names("in-b").contains { $0.hasPrefix(".peer-") })
    receiver.stop()
    barrier.open()
    _ = sender.failure()
  }

  @Test func `what is staged of a part in another place is found again, and forgotten with the transfer`() throws {
    try interrupted()
    let listed = try #require(try receivingStore.list().transfers.first).remembered
    expect(listed.parts[1].begun?.elsewhere, is: destination.at("in-b"))
    // An importer that cannot be had yet does not end a run, nor discard what is staged.
    let busy = try rooms()
    busy.troubles.withLock { $0["b"] = Failure(.appInUse, "the app b is running") }
    let waiting = try self.receiver(busy)
    _ = try waiting.events.code()
    waiting.stop()
    expect(destination.names("in-b").contains { $0.hasPrefix(".peer-") })
    _ = try receivingStore.forget(listed.transfer.hexadecimal)
    expect(destination.names("in-b").isEmpty)
  }

  @Test func `a part that an earlier run began is judged by its own importer, which holds it`() throws {
    try interrupted()
    let again = try self.receiver(try rooms())
    expect(try sender(to: again, code: nil).result().failedParts, is: 0)
    expect(try again.result().total, is: Tally(items: 6, bytes: 150_000))
  }

  @Test func `parts that fit only alone are refused as soon as the room is used up`() throws {
    let receiver = try receiver(try rooms(room: 120_000))
    let sender = try sender(to: receiver, code: try receiver.events.code())
    expect(try sender.result().failedParts, is: 1)
    expect(try receiver.result().failedParts, is: 1)
    expect(sender.events.failedParts, is: ["c 6"])
    expect(hasArrived("a") && hasArrived("b"))
  }
}

/// A source whose export a test holds up.
private final class SlowSource: ItemSource {
  private let source: FolderSource
  private let before: @Sendable () -> Void

  init(_ source: FolderSource, before: @escaping @Sendable () -> Void) {
    self.source = source
    self.before = before
  }

  func origin() throws(Failure) -> [[UInt8]] { try source.origin() }
  func identities(by naming: SourceNaming) -> [SourceIdentity] { source.identities(by: naming) }
  func prepare(until stop: StopSignal) throws(Failure) -> SourceSummary { try source.prepare(until: stop) }

  func export(
    _ settings: ExportSettings, for request: AppRequest?, begin: (any FrameSource) -> Void
  ) throws(Failure) -> ExportResult {
    before()
    return try source.export(settings, for: request, begin: begin)
  }
}
