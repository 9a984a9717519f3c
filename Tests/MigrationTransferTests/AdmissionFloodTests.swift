import Expectations
import MigrationEngine
import MigrationSystem
import TestSupport
import Testing

@testable import MigrationTransfer

/// Floods against the value that decides who comes in, on a clock that the test moves: an honest
/// device is let through.
@Suite struct AdmissionFloodTests {
  /// The actions of a flood's connections before they fall silent.
  enum Conduct: Int, CaseIterable, Sendable {
    case nothing
    case firstRecord
    case handshake
    case request
  }

  struct Flood: CustomTestStringConvertible, Sendable {
    let conduct: Conduct
    /// Connections a second, and from how many addresses.
    let rate: Int
    let hosts: Int
    /// Whether they come from the honest device's own address.
    let isOwnAddress: Bool
    var isEngaged = false

    var testDescription: String { "\(conduct), \(rate)/s from \(isOwnAddress ? "the same address" : "\(hosts)")" }
  }

  static let floods = [1, 200].flatMap { hosts in
    (Rounds.step == 1 ? [30, 1000, 5000] : [1000]).flatMap { rate in
      Conduct.allCases.map { Flood(conduct: $0, rate: rate, hosts: hosts, isOwnAddress: false) }
    }
  }

  static let ownFloods = [30, 1000].flatMap { rate in
    Conduct.allCases.map { Flood(conduct: $0, rate: rate, hosts: 1, isOwnAddress: true) }
  }

  @Test(arguments: floods) func `a device of another address is through within five seconds`(_ flood: Flood) {
    let times = (0..<1 as Range<UInt64>).map { World(flood, seed: $0).secondsUntilThrough(atMost: 60) }
    expect(times.max() ?? 60 < 5)
  }

  @Test(arguments: ownFloods) func `a device is through in spite of its own address within thirty`(_ flood: Flood) {
    let times = (0..<1 as Range<UInt64>).map { World(flood, seed: $0).secondsUntilThrough(atMost: 60) }
    expect(times.max() ?? 60 < 30)
  }

  /// A millisecond after another: the flood, the honest device, and the admission between.
  private struct World {
    private static let step = 0.001
    /// How long the honest device takes from one step to the next: a network of another continent
    /// does not fit the moment that is sure, one of the same does.
    private static let roundTrip = 0.04

    private let flood: Flood
    private var dice: Generator
    private var admission = Admission(Admission.forStrangers)
    private var last: UInt64 = 0
    private var now = 0.0
    private var due = 0.0
    private var honest: (id: ConnectionID, stage: Admission.Stage, moves: Double)?
    private var redials = 0.0
    private var pause = 0.1

    init(_ flood: Flood, seed: UInt64) {
      self.flood = flood
      dice = Generator(seed: seed)
    }

    /// How long the honest device, which comes when the flood is there, takes to READY.
    consuming func secondsUntilThrough(atMost limit: Double) -> Double {
      let start = max(0.3, min(3, 600 / Double(flood.rate)))
      redials = start
      while now < limit {
        now += Self.step
        due += Double(flood.rate) * Self.step
        while due >= 1 {
          due -= 1
          comeFlood()
        }
        letIn()
        if goOn() { return now - start }
      }
      return limit
    }

    /// Another connection of a host has arrived.
    private mutating func arrive(_ host: Int) -> (ConnectionID, turnedAway: ConnectionID?) {
      let address = SocketAddress(numeric: "10.0.\(host >> 8).\(host & 255)", port: 0) ?? .loopback(port: 0)
      last += 1
      let remote = Remote(host: address.hostDescription, network: AddressRange(address).description)
      return (ConnectionID(last), admission.arrive(ConnectionID(last), from: remote, now: now, chance: dice.next()))
    }

    private mutating func comeFlood() {
      let host = flood.isOwnAddress ? 0 : 1 + Int(dice.next() % UInt64(flood.hosts))
      let (id, turnedAway) = arrive(host)
      if let turnedAway { gone(turnedAway) }
      if flood.conduct != .nothing { admission.heard(id) }
    }

    private mutating func letIn() {
      for id in admission.expire(now: now) { gone(id) }
      while let (id, evicted) = admission.letIn(now: now, isPaced: flood.isEngaged, chance: dice.next()) {
        if let evicted { gone(evicted) }
        if id == honest?.id {
          honest?.stage = .greeting
          honest?.moves = now + Self.roundTrip
        } else {
          if flood.conduct.rawValue >= Conduct.handshake.rawValue {
            admission.advance(id, to: .secured, now: now + 0.001)
          }
          if flood.conduct == .request { admission.advance(id, to: .asking, now: now + 0.002) }
        }
      }
    }

    private mutating func gone(_ id: ConnectionID) {
      guard id == honest?.id else { return }
      honest = nil
      redials = now + pause
      pause = min(Backoff.longestBeforeReady, pause * 2)
    }

    /// The honest device goes a step further; whether it is through.
    private mutating func goOn() -> Bool {
      guard let (id, stage, moves) = honest else {
        guard now >= redials else { return false }
        let (id, turnedAway) = arrive(0)
        // Its first record is sent together with the last word of TCP's handshake, or straight
        // after it.
        honest = (id, .silent, now + 0.002)
        if let turnedAway { gone(turnedAway) }
        return false
      }
      guard now >= moves else { return false }
      switch stage {
      case .silent:
        admission.heard(id)
        honest?.stage = .waiting
      case .waiting: return false
      case .greeting, .secured:
        admission.advance(id, to: stage == .greeting ? .secured : .asking, now: now)
        honest?.stage = stage == .greeting ? .secured : .asking
      case .asking, .proving: return true
      }
      honest?.moves = now + Self.roundTrip
      return false
    }
  }
}
