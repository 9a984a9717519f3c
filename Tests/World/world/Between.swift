import CWorld
import MigrationRelay
import MigrationSystem
import MigrationTransfer
import MigrationWire
import TestSupport

/// The relay between both devices, whose administrator starts it again when it has ended.
struct Between {
  /// The running process.
  var process: CInt?
  /// When it is started, or asked again to stop.
  var startsAt: UInt64? = 0
  /// Whether it was asked to stop.
  var isAsked = false
  /// The most bytes a second; nil for no limit.
  let rate: UInt64?
}

extension Ends {
  static let relayPort: UInt16 = 47472
  static let access = RelayAccess(HostAndPort(host: "127.0.0.1", port: relayPort), token)
  private static let token = RelayToken([UInt8](repeating: 7, count: RelayToken.size))

  /// `peer relay`.
  static func relay(rate: UInt64?) throws {
    var settings = RelaySettings(tokens: [token])
    settings.rate = rate
    let socket = try ListeningSocket(host: "127.0.0.1", port: relayPort)
    try RelayLoop(settings, on: socket, until: try SignalSource()) { _ in }.run()
  }
}

extension Course {
  /// How long a relay keeps a connection whose other end is silent.
  private static let longestSilence = 1000 * second

  /// The devices meet at a relay, in some courses.
  mutating func putBetween(_ seed: UInt64) {
    var generator = Generator(seed: seed ^ 0x3E1A4)
    guard generator.next() % 6 == 0 || kind == .relayed else { return }
    between = Between(rate: [nil, nil, 256 << 10, 32 << 10][Int(world_draw(4))])
    raiseWalls()
    startRelay()
  }

  /// In half of the courses the devices find no way past the relay, mostly one of two in the others.
  private func raiseWalls() {
    let walls = world_draw(6)
    world_relay(Ends.relayPort, walls > 1, walls == 1 || walls > 2)
  }

  /// Starts the relay, or asks it again to stop, if it is time for that.
  mutating func startRelay() {
    guard let relay = between, relay.startsAt.map({ $0 <= now }) ?? false else { return }
    between?.startsAt = nil
    if let process = relay.process { return world_ask(process) }
    between?.process = Ends.start { try Ends.relay(rate: relay.rate) }
    tally.relays += 1
  }

  /// The relay runs from now on, also if it was stopped or killed.
  mutating func raiseRelay() {
    if between?.isAsked == true { killRelay(false) }
    if let relay = between, relay.process == nil { between?.startsAt = 0 }
    startRelay()
  }

  private mutating func killRelay(_ withMachine: Bool) {
    guard let process = between?.process else { return }
    world_kill(process, withMachine)
    relayHasEnded()
  }

  private mutating func relayHasEnded() {
    between?.process = nil
    between?.isAsked = false
    let moment = now + world_draw(8 * Self.second)
    between?.startsAt = moment
  }

  /// Takes note of a relay that has ended.
  mutating func reapRelay() -> String? {
    guard let process = between?.process, world_result(process) >= 0 else { return nil }
    let hasEnded = between?.isAsked == true && world_result(process) == 0 && world_left(process) == 0
    relayHasEnded()
    return hasEnded ? nil : "the relay ends with \(world_result(process)), and leaves \(world_left(process))"
  }

  /// Something happens to the relay. Once the sender has a record, both ends go on by themselves.
  mutating func harmRelay() {
    // It begins with what it needs, or ends.
    guard let process = between?.process, world_waits(process) > 0 else { return }
    if !Promises.isEndUnknown { isExcused = true }
    switch world_draw(8) {
    case 0, 1, 2: killRelay(false)
    case 3: killRelay(true)
    case 4:
      guard between?.isAsked == false else { return }
      world_ask(process)
      between?.isAsked = true
      // It lets joined calls end, for some time.
      let moment = now + world_draw(10 * Self.second)
      between?.startsAt = moment
    case 5, 6: world_starve(process, world_draw(5 * Self.second))
    default: raiseWalls()
    }
  }

  /// Both ends are gone: the relay has nothing of them any more, rests, and ends when it is asked.
  mutating func endRelay() -> String? {
    raiseRelay()
    guard let process = between?.process else { return nil }
    let end = now + Self.longestSilence
    repeat {
      if now > end { return "the relay still has \(world_sockets(process) - 1) connections" }
      _ = world_turn(now + Self.second, 0)
      if let broken = reapRelay() { return broken }
    } while world_sockets(process) != 1
    let waits = world_waits(process)
    _ = world_turn(now + 20 * Self.second, 0)
    if world_waits(process) > waits + 25 { return "the relay does not rest" }
    world_ask(process)
    between?.isAsked = true
    _ = world_turn(now + 10 * Self.second, 0)
    return world_result(process) < 0 ? "the relay does not end" : reapRelay()
  }
}
