import CWorld
import Foundation
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// The processes of the two devices, as the command starts them.
enum Ends {
  static let ground = "/dev/shm"
  static let source = "\(ground)/old"
  static let destination = "\(ground)/new"
  static let oldHome = "\(ground)/old-home"
  static let newHome = "\(ground)/new-home"
  /// Another home of the new device's user.
  static let otherHome = "\(ground)/other-home"
  private static let port: UInt16 = 47470
  static let code = PairingCode(number: 1_234_567)

  /// For how many seconds an end tries again: at a relay as long as by default.
  private static func patience(through relay: RelayAccess?) -> Double { relay == nil ? 60 : 600 }

  private final class Conduct {
    let body: () throws -> Void

    init(_ body: @escaping () throws -> Void) { self.body = body }

    /// Returns the result of the process.
    func run() -> CInt {
      do {
        try body()
        return 0
      } catch let failure as Failure {
        world_say("fails: \(failure.message)")
        return failure.kind.rawValue
      } catch is Late {
        return late
      } catch {
        world_say("fails: \(error)")
        return 1
      }
    }
  }

  /// Starts a process; returns its number.
  static func start(_ body: @escaping () throws -> Void) -> CInt {
    let conduct = Conduct(body)
    return withExtendedLifetime(conduct) {
      world_start(
        { Unmanaged<Conduct>.fromOpaque($0!).takeUnretainedValue().run() }, Unmanaged.passUnretained(conduct).toOpaque()
      )
    }
  }

  /// `peer receive`; with `remembers`, what an earlier pass has brought is known. Tells how many items were
  /// removed since they arrived.
  static func receive(
    code: PairingCode = code, remembers: Bool = false, existing: Existing? = nil, isStoppable: Bool = false,
    home: String = newHome, port: UInt16 = port, through relay: RelayAccess? = nil
  ) throws {
    var options = Receiver.Options(
      listen: HostAndPort(host: "127.0.0.1", port: port), label: "new", software: "world",
      giveUpAfter: patience(through: relay))
    options.code = code
    options.relay = relay
    options.keepsPairings = remembers
    if remembers { options.knownDevices = .migrating(isKept: true) }
    let importer = try FolderImporter(
      into: Array(destination.utf8), preserving: Preserved(), atMost: nil,
      existing: existing ?? (remembers ? .merge : nil))
    let failed = Mutex<[UInt16: Failure]>([:])
    let result = try stopping(isStoppable) {
      try PeerReceiver.receive(
        options, into: importer, memory: TransferStore(home: Array(home.utf8)), isAnnounced: false,
        telling: { tell("receiver", $0, failed) }, stopping: $0)
    }
    world_say("receives \(result.total), \(result.removed)")
    tellEnd(result.removed)
    if let failure = failed.withLock({ $0.values.first }) { throw failure }
  }

  /// `peer send`, of everything in a folder of the source.
  static func send(
    _ roots: [String], of folder: String, streams: UInt32?, code: PairingCode = code, remembers: Bool = false,
    inParts: Bool = false, isStoppable: Bool = false, through relay: RelayAccess? = nil
  ) throws {
    var options = Sender.Options(
      target: relay == nil ? .host(HostAndPort(host: "127.0.0.1", port: port)) : .relay, label: "old",
      software: "world", streams: streams, giveUpAfter: patience(through: relay))
    options.relay = relay
    options.keepsPairing = remembers
    if remembers { options.knownDevices = .migrating(isKept: true) }
    // Its sources are named by their paths in the user's home.
    setenv("HOME", source, 1)
    let sources = try (inParts ? roots.map { [$0] } : [roots]).map { roots in
      try FolderSource(
        paths: roots.map { Array("\(folder)/\($0)".utf8) }, selecting: Selection(), withOwners: false,
        notice: { _ in })
    }
    let failed = Mutex<[UInt16: Failure]>([:])
    let result = try stopping(isStoppable) {
      try PeerSender.send(
        sources, options, memory: TransferStore(home: Array(oldHome.utf8)), telling: { tell("sender", $0, failed) },
        stopping: $0,
        choosing: { (_, _) throws(Failure) in throw Failure(.usage, "there is nothing to choose") },
        code: { (device, end) throws(Failure) in try typed(code, at: device, until: end) })
    }
    world_say("sends \(result.total), \(result.removed), \(result.unsent) unsent")
    tellEnd(result.removed)
    if let failure = failed.withLock({ $0.values.first }) { throw failure }
  }

  /// What a user types, who reads the code, and the receiver's place at a relay, on the new device.
  private static func typed(
    _ code: PairingCode, at device: DeviceAddress, until end: CInt
  ) throws(Failure) -> TypedCode {
    guard device.isRelay else { return TypedCode(code: code) }
    for _ in 0..<240 {
      if let place = RelayPlace(number: UInt32(world_noticed())) { return TypedCode(place: place, code: code) }
      var polled = pollfd(fd: end, events: Int16(POLLIN), revents: 0)
      if poll(&polled, 1, 500) > 0 { break }
    }
    throw Failure(.interrupted, "the receiver shows no place")
  }

  /// The result of a process that goes on though its user has asked it to stop.
  static let late: CInt = 99
  private struct Late: Error {}
  /// More than all limits of an end that was stopped.
  private static let longestStop: UInt64 = 30_000_000_000

  /// Runs an end that is stopped when its user asks for that, and then has to end soon.
  private static func stopping<Result>(
    _ isStoppable: Bool, _ run: ((@escaping @Sendable (Failure.Kind) -> Void) -> Void) throws -> Result
  ) throws -> Result {
    guard isStoppable else { return try run { _ in } }
    let isLate = Mutex(false)
    var user: OwnerThread?
    let result = Swift.Result {
      try run { stop in
        user = try? OwnerThread(name: "user") {
          guard world_await_asking() else { return }
          stop(.interrupted)
          if !world_await_answer(longestStop) { isLate.withLock { $0 = true } }
        }
      }
    }
    withExtendedLifetime(user) { world_answer() }
    if isLate.withLock({ $0 }) { throw Late() }
    return try result.get()
  }

  /// `peer forget --older-than` with a time that every unfinished transfer has reached.
  static func forget(_ home: String) throws {
    let store = TransferStore(home: Array(home.utf8))
    for forgotten in try store.forget(olderThan: -1, at: store.time()) { world_say("forgets \(forgotten.transfer)") }
  }

  /// `peer forget` of all data that no record names.
  static func forgetLeftovers(_ home: String) throws {
    let store = TransferStore(home: Array(home.utf8))
    for leftover in try store.listEverything().leftovers { _ = try store.forget(leftover.identifier.hexadecimal) }
  }

  /// What each command does at its start.
  static func purge(_ home: String) throws {
    let store = TransferStore(home: Array(home.utf8))
    try store.purge(at: store.time())
    _ = try store.list()
  }

  /// Notes an event, and the parts that have failed: the command fails with them.
  private static func tell(_ end: String, _ event: TransferEvent, _ failed: borrowing Mutex<[UInt16: Failure]>) {
    if case .progress = event { return }
    if case .paired(_, _, isKnown: false) = event, end == "sender" { world_happens(WORLD_PAIRED) }
    if case .partEnded(let part) = event {
      if case .failure = part.result, end == "receiver" { world_happens(WORLD_FAILED) }
      failed.withLock { $0[part.number] = if case .failure(let failure) = part.result { failure } else { nil } }
    }
    if case .code(_, _, let place) = event { world_notice(UInt64(place?.number ?? 0)) }
    world_say("\(end): \(event)")
    if case .done(let result) = event { tellEnd(result.removed) }
  }

  /// Tells that everything has arrived, and how much of it was removed since then.
  private static func tellEnd(_ removed: Done.Removed) { world_tell(1 + removed.count) }

  private final class WarmUp {
    let bodies = [Conduct { try receive() }, Conduct { try send(["warm"], of: source, streams: 1) }]
  }

  /// Runs both ends once in this process, so that what a process does only once is done.
  static func warmUp() {
    world_ground()
    let file = open("\(ground)/old/warm", O_WRONLY | O_CREAT, 0o644)
    close(file)
    let warmUp = WarmUp()
    let counts = world_run(
      1, 2,
      { raw, number in
        _ = Unmanaged<WarmUp>.fromOpaque(raw!).takeUnretainedValue().bodies[Int(number)].run()
      }, Unmanaged.passUnretained(warmUp).toOpaque())
    precondition(!counts.is_stuck, "the ends do not meet")
  }
}
