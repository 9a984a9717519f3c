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
    private typealias Ticket = Admission.Ticket

    private static let step = 0.001
    /// How long the honest device takes from one step to the next: a network of another continent
    /// does not fit the moment that is sure, one of the same does.
    private static let roundTrip = 0.04

    private let flood: Flood
    private var dice: Generator
    private var admission = Admission()
    private var now = 0.0
    private var due = 0.0
    private var honest: (ticket: Ticket, stage: Admission.Stage, moves: Double)?
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

    private func origin(_ host: Int) -> Admission.Origin {
      let address = SocketAddress(numeric: "10.0.\(host >> 8).\(host & 255)", port: 0) ?? .loopback(port: 0)
      return Admission.Origin(
        address: address.hostDescription, network: AddressRange(address).description, isFamiliar: false)
    }

    private mutating func comeFlood() {
      let host = flood.isOwnAddress ? 0 : 1 + Int(dice.next() % UInt64(flood.hosts))
      let (ticket, turnedAway) = admission.arrive(origin(host), now: now, chance: dice.next())
      if let turnedAway { gone(turnedAway) }
      if flood.conduct != .nothing { admission.heard(ticket) }
    }

    private mutating func letIn() {
      for ticket in admission.expire(now: now) { gone(ticket) }
      while let (ticket, evicted) = admission.letIn(now: now, isEngaged: flood.isEngaged, chance: dice.next()) {
        if let evicted { gone(evicted) }
        if ticket == honest?.ticket {
          honest?.stage = .greeting
          honest?.moves = now + Self.roundTrip
        } else {
          if flood.conduct.rawValue >= Conduct.handshake.rawValue {
            admission.advance(ticket, to: .secured, now: now + 0.001)
          }
          if flood.conduct == .request { admission.advance(ticket, to: .asking, now: now + 0.002) }
        }
      }
    }

    private mutating func gone(_ ticket: Ticket) {
      guard ticket == honest?.ticket else { return }
      honest = nil
      redials = now + pause
      pause = min(Backoff.longestBeforeReady, pause * 2)
    }

    /// The honest device goes a step further; whether it is through.
    private mutating func goOn() -> Bool {
      guard let (ticket, stage, moves) = honest else {
        guard now >= redials else { return false }
        let (ticket, turnedAway) = admission.arrive(origin(0), now: now, chance: dice.next())
        // Its first record is sent together with the last word of TCP's handshake, or straight
        // after it.
        honest = (ticket, .silent, now + 0.002)
        if let turnedAway { gone(turnedAway) }
        return false
      }
      guard now >= moves else { return false }
      switch stage {
      case .silent:
        admission.heard(ticket)
        honest?.stage = .waiting
      case .waiting: return false
      case .greeting, .secured:
        admission.advance(ticket, to: stage == .greeting ? .secured : .asking, now: now)
        honest?.stage = stage == .greeting ? .secured : .asking
      case .asking, .proving: return true
      }
      honest?.moves = now + Self.roundTrip
      return false
    }
  }
}
