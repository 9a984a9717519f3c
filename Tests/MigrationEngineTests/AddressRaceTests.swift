import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

@Suite struct AddressRaceTests {
  /// Begins all attempts that are due.
  private func begin(_ race: inout AddressRace, _ now: Double) -> [Int] {
    var begun: [Int] = []
    while let place = race.begin(now: now) { begun.append(place) }
    return begun
  }

  @Test func `an attempt begins every quarter of a second, and none twice`() {
    var race = AddressRace(count: 3, now: 10, patience: 5)
    var log: [[Int]] = []
    for now in [10, 10.2, 10.25, 10.3, 10.5, 11] { log.append(begin(&race, now)) }
    expect(log, is: [[0], [], [1], [], [2], []])
    expect(race.nextMoment, is: 15)
  }

  @Test func `after a sleep of several steps one attempt begins, not all of them`() {
    var race = AddressRace(count: 3, now: 10, patience: 5)
    expect(begin(&race, 10), is: [0])
    expect(begin(&race, 12), is: [1])
    expect(race.nextMoment, is: 12.25)
  }

  @Test func `a failed attempt starts the next one at once`() {
    var race = AddressRace(count: 3, now: 10, patience: 5)
    expect(begin(&race, 10), is: [0])
    race.failed(0, by: .noRoute, now: 10.1)
    expect(race.nextMoment, is: 10.1)
    expect(begin(&race, 10.1), is: [1])
    expect(race.nextMoment, is: 10.35)
    expect(race.loss(now: 10.2) == nil)
  }

  /// Of a thousand rounds: attempts end in each way, at once, before the next one, and behind it.
  @Test func `in a round nothing that an address does moves an attempt, or the end`() {
    let outcomes: [AddressRace.Obstacle?] = [nil, .refused, .silent, .noRoute, .forbidden, .other("it is its own")]
    var courses: Set<[Double]> = []
    for number in 0..<1_000 {
      var race = AddressRace(count: 3, now: 100, patience: 5, isRound: true)
      var (moments, now) = ([Double](), 100.0)
      while race.loss(now: now) == nil {
        while let place = race.begin(now: now) {
          moments.append(now)
          // At once, before the next attempt, and behind it; a connection is no result of a round.
          let after = Double(number / 6 % 50) * 0.01
          switch outcomes[number % 6] {
          case nil: race.taken(place)
          case let obstacle?: race.failed(place, by: obstacle, now: now + after)
          }
        }
        now = race.nextMoment
      }
      courses.insert(moments + [now])
    }
    expect(courses, is: [[100, 100.25, 100.5, 105]])
  }

  @Test func `the race is lost when all addresses have failed`() {
    var race = AddressRace(count: 2, now: 10, patience: 5)
    expect(begin(&race, 10), is: [0])
    race.failed(0, by: .noRoute, now: 10)
    expect(race.loss(now: 10) == nil)
    expect(begin(&race, 10), is: [1])
    race.failed(1, by: .refused, now: 10.1)
    expect(race.loss(now: 10.1), is: AddressRace.Loss(place: 1, obstacle: .refused))
  }

  @Test func `the race is lost at its deadline, and addresses without an answer count as silent`() {
    var race = AddressRace(count: 2, now: 10, patience: 5)
    _ = begin(&race, 10)
    expect(race.loss(now: 14.9) == nil)
    expect(race.loss(now: 15), is: AddressRace.Loss(place: 0, obstacle: .silent))
    expect(begin(&race, 15), is: [])
  }

  @Test func `the race reports the most informative failure, and the first of equal ones`() {
    let obstacles: [AddressRace.Obstacle] = [.other("x"), .noRoute, .silent, .refused]
    for first in obstacles.indices {
      for second in obstacles.indices {
        var race = AddressRace(count: 2, now: 0, patience: 5)
        _ = begin(&race, 0)
        race.failed(0, by: obstacles[first], now: 0)
        _ = begin(&race, 0)
        race.failed(1, by: obstacles[second], now: 0)
        let expected = second > first ? (1, obstacles[second]) : (0, obstacles[first])
        expect(race.loss(now: 0), is: AddressRace.Loss(place: expected.0, obstacle: expected.1))
      }
    }
  }

  @Test func `address families alternate, and each keeps its order`() {
    expect(AddressRace.alternating([6, 61, 62, 4, 41]) { $0 >= 6 && $0 != 41 }, is: [6, 4, 61, 41, 62])
    expect(AddressRace.alternating([4]) { $0 == 4 }, is: [4])
    expect(AddressRace.alternating([Int]()) { _ in true }, is: [])
  }

  @Test func `a failure names the device, its address and the remedy`() {
    let named = DeviceAddress(name: "new-laptop", host: "192.0.2.7", port: 47470)
    let plain = DeviceAddress(name: nil, host: "192.0.2.7", port: 5)
    let failures = [
      Failure(unreached: named, by: .refused), Failure(unreached: plain, by: .silent),
      Failure(unreached: plain, by: .noRoute), Failure(unreached: named, by: .other("it is broken")),
      Failure(unreached: plain, by: .forbidden),
    ]
    expect(failures.allSatisfy { $0.kind == .connectionLost })
    expect(
      failures.map(\.message),
      is: [
        "nothing listens at new-laptop (192.0.2.7) on port 47470", "192.0.2.7 does not answer on port 5",
        "no route to 192.0.2.7", "new-laptop (192.0.2.7) cannot be reached: it is broken",
        "a firewall forbids connections to 192.0.2.7 on port 5",
      ])
    expect(
      failures[1].hint,
      is: "Check the address. A firewall there may block the connection: allow TCP port 5. "
        + "A network for guests or a VPN may keep the devices apart.")
  }

  @Test func `a name from the network can neither control the terminal nor fill it`() {
    let long = String(repeating: "n", count: 100)
    expect(DeviceAddress(name: "a\u{1B}[2J", host: "fe80::1%eth0", port: 1).shown, is: "$'a\\x1b[2J' (fe80::1%eth0)")
    expect(
      DeviceAddress(name: long, host: "192.0.2.7", port: 1).shown,
      is: String(repeating: "n", count: 64) + "… (192.0.2.7)"
    )
    expect(DeviceAddress(name: "", host: "192.0.2.7", port: 1).shown, is: "192.0.2.7")
  }
}
