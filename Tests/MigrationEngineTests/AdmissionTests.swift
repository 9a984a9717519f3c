import Expectations
import TestSupport
import Testing

@testable import MigrationEngine

/// Which connections are let in, stay, and are turned away.
@Suite struct AdmissionTests {
  /// The numbers of connections.
  private final class Numbers {
    var last: UInt64 = 0
  }

  private let numbers = Numbers()

  /// Another connection has arrived from a host; hosts of one network share its places.
  private func arrive(
    _ admission: inout Admission, _ host: Int, network: Int? = nil, now: Double = 0, chance: UInt64 = 0
  ) -> (ConnectionID, turnedAway: ConnectionID?) {
    numbers.last += 1
    let id = ConnectionID(numbers.last)
    let remote = Remote(host: "host \(host)", network: "network \(network ?? host)")
    return (id, admission.arrive(id, from: remote, now: now, chance: chance))
  }

  @Test func `a full accept queue turns away a silent connection of the address with most connections`() {
    var admission = Admission(Admission.forStrangers)
    let (first, _) = arrive(&admission, 1)
    var others: [ConnectionID] = []
    for _ in 1..<Admission.forStrangers.acceptQueue { others.append(arrive(&admission, 2).0) }
    for other in others.dropLast() { admission.heard(other) }
    let (newcomer, turnedAway) = arrive(&admission, 3, chance: 7)
    expect(turnedAway, is: others.last)
    expect(turnedAway != first && turnedAway != newcomer)
    expect(admission.count, is: Admission.forStrangers.acceptQueue)
  }

  @Test func `networks share places before addresses do`() {
    var admission = Admission(Admission.forStrangers)
    // One network with one address and three connections, and one network of many addresses with
    // all the others.
    let lone = (0..<3).map { _ in arrive(&admission, 1).0 }
    for host in 0..<Admission.forStrangers.acceptQueue - 3 {
      _ = arrive(&admission, 100 + host, network: 2)
    }
    for chance in 0..<100 as Range<UInt64> {
      let (_, turnedAway) = arrive(&admission, 1000 + Int(chance), network: 2, chance: chance)
      expect(turnedAway.map { !lone.contains($0) }, is: true)
    }
  }

  @Test func `chance decides between equals, age does not, and equal chance decides equally`() {
    for chance in [0, 1, 100, 256] as [UInt64] {
      var admission = Admission(Admission.forStrangers)
      var ids: [ConnectionID] = []
      for host in 0..<Admission.forStrangers.acceptQueue {
        ids.append(arrive(&admission, host, now: Double(host)).0)
      }
      let (newcomer, turnedAway) = arrive(&admission, 999, now: 300, chance: chance)
      expect(turnedAway, is: (ids + [newcomer])[Int(chance)])
    }
  }

  @Test(arguments: [1, 2]) func `connections that have ended no longer count`(network: Int) {
    var admission = Admission(Admission.forStrangers)
    // In a network of its own, or in the network of the other host.
    for _ in 0..<10 { admission.leave(arrive(&admission, 1, network: network).0) }
    _ = arrive(&admission, 1, network: network)
    let most = (0..<2).map { _ in arrive(&admission, 2).0 }
    for host in 3..<Admission.forStrangers.acceptQueue { _ = arrive(&admission, host) }
    for chance in 0..<2 as Range<UInt64> {
      var admission = admission
      expect(arrive(&admission, 1000, chance: chance).turnedAway, is: most[Int(chance)])
    }
  }

  /// Fills every place inside, at time 0.
  private func full(_ admission: inout Admission, hosts: Int) -> [ConnectionID] {
    (0..<Admission.forStrangers.inside).map { number in
      let (id, _) = arrive(&admission, number % hosts)
      admission.heard(id)
      expect(admission.letIn(now: 0, isPaced: false, chance: 0)?.0, is: id)
      return id
    }
  }

  @Test func `a connection keeps its place for a moment after each step, then yields it to one with fewer`() {
    var admission = Admission(Admission.forStrangers)
    let inside = full(&admission, hosts: 2)
    let (newcomer, _) = arrive(&admission, 9)
    admission.heard(newcomer)
    expect(admission.letIn(now: 0.05, isPaced: false, chance: 0) == nil)
    expect(admission.nextMoment(now: 0.05, isPaced: false), is: Admission.grace)
    admission.advance(inside[0], to: .secured, now: 0.08)
    for id in inside[2...] { admission.advance(id, to: .proving, now: 0) }
    admission.advance(inside[1], to: .asking, now: 0)
    let entry = admission.letIn(now: 0.1, isPaced: false, chance: 3)
    expect(entry?.0, is: newcomer)
    // The connection with the least progress makes room, among those whose moment has passed.
    expect(entry?.evicted, is: inside[1])
  }

  @Test func `the grace counts from being let in, not from the connection's arrival`() {
    var admission = Admission(Admission.forStrangers)
    for host in 0..<Admission.forStrangers.inside {
      admission.heard(arrive(&admission, host).0)
    }
    while admission.letIn(now: 1, isPaced: false, chance: 0) != nil {}
    admission.heard(arrive(&admission, 0, now: 1).0)
    expect(admission.nextMoment(now: 1, isPaced: false), is: 1 + Admission.grace)
    let early = admission.letIn(now: 1 + Admission.grace / 2, isPaced: false, chance: 0)
    let late = admission.letIn(now: 1 + Admission.grace, isPaced: false, chance: 0)
    expect(early == nil && late != nil)
  }

  @Test func `an address cannot displace an address with fewer connections`() {
    var admission = Admission(Admission.forStrangers)
    let inside = full(&admission, hosts: Admission.forStrangers.inside)
    let (greedy, _) = arrive(&admission, 0, now: 1)
    admission.heard(greedy)
    // Only its own connection makes room for it.
    expect(admission.letIn(now: 1, isPaced: false, chance: 11)?.evicted, is: inside[0])
  }

  @Test func `within a network an address yields a place to an address with fewer`() {
    var admission = Admission(Admission.forStrangers)
    func letIn(_ host: Int, at now: Double) -> (ConnectionID, evicted: ConnectionID?)? {
      admission.heard(arrive(&admission, host, network: 1, now: now).0)
      return admission.letIn(now: now, isPaced: false, chance: 0)
    }
    let modest = letIn(1, at: 0)?.0
    let greedy = (1..<Admission.forStrangers.inside).compactMap { _ in letIn(2, at: 0)?.0 }
    let evicted = letIn(1, at: 1)?.evicted
    expect(modest != nil && greedy.count == Admission.forStrangers.inside - 1)
    expect(greedy.contains { $0 == evicted })
  }

  @Test func `during a session the next moment of admission is known`() {
    var admission = Admission(Admission.forStrangers)
    for host in 0...Int(Admission.forStrangers.burst) {
      admission.heard(arrive(&admission, host).0)
    }
    while admission.letIn(now: 0, isPaced: true, chance: 0) != nil {}
    let moment = admission.nextMoment(now: 0, isPaced: true) ?? 0
    expect(moment >= 1 / Admission.forStrangers.rate && moment < 1.001 / Admission.forStrangers.rate)
    // Without a session, waiting connections are let in at once and need no moment.
    expect(admission.nextMoment(now: 0, isPaced: false), is: ReadyLimits.acceptQueue)
  }

  @Test func `connections whose time has ended leave in their order of arrival`() {
    var admission = Admission(Admission.forStrangers)
    let ids = (0..<100).map { arrive(&admission, $0).0 }
    expect(admission.expire(now: ReadyLimits.acceptQueue), is: ids)
  }

  @Test func `during a session strangers are let in at a limited rate`() {
    var admission = Admission(Admission.forStrangers)
    var entered = 0
    for step in 0..<2000 {
      let now = Double(step) / 200
      let (id, _) = arrive(&admission, step, now: now, chance: UInt64(step))
      admission.heard(id)
      while let (entry, _) = admission.letIn(now: now, isPaced: true, chance: UInt64(step)) {
        entered += 1
        admission.leave(entry)
      }
    }
    expect(200...220 ~= entered)
  }

  @Test func `silent connections have less time in a filling accept queue`() {
    var admission = Admission(Admission.forStrangers)
    let (lone, _) = arrive(&admission, 1)
    expect(admission.expire(now: ReadyLimits.acceptQueue - 0.1), is: [])
    expect(admission.expire(now: ReadyLimits.acceptQueue), is: [lone])
    let crowd = (0...Admission.forStrangers.acceptQueue / 2).map { arrive(&admission, $0, now: 10).0 }
    admission.heard(crowd[3])
    let over = admission.expire(now: 10 + Admission.shortPatience)
    expect(over.count == crowd.count - 1 && !over.contains(crowd[3]))
  }

  @Test(arguments: 0..<6 as Range<UInt64>)
  func `in any order of events, places are limited and every connection counts once`(seed: UInt64) {
    var dice = Generator(seed: seed)
    var admission = Admission(Admission.forStrangers)
    var (waiting, inside): (Set<ConnectionID>, Set<ConnectionID>) = ([], [])
    var now = 0.0
    for _ in 0..<2000 {
      now += Double(dice.next() % 20) / 1000
      switch dice.next() % 6 {
      case 0, 1, 2:
        let host = Int(dice.next() % 40)
        let (id, turnedAway) = arrive(&admission, host, network: host / 4, now: now, chance: dice.next())
        waiting.insert(id)
        if let turnedAway { expect(waiting.remove(turnedAway) != nil) }
        if dice.next() % 2 == 0 { admission.heard(id) }
      case 3:
        guard let entry = admission.letIn(now: now, isPaced: dice.next() % 2 == 0, chance: dice.next()) else { break }
        expect(waiting.remove(entry.0) != nil)
        inside.insert(entry.0)
        if let evicted = entry.evicted { expect(inside.remove(evicted) != nil) }
      case 4:
        for id in admission.expire(now: now) { expect(waiting.remove(id) != nil) }
      default:
        guard let id = inside.sorted().randomElement(using: &dice) else { break }
        if dice.next() % 2 == 0 {
          admission.advance(id, to: .asking, now: now)
        } else {
          admission.leave(id)
          inside.remove(id)
        }
      }
      expect(admission.count, is: waiting.count + inside.count)
      expect(inside.count <= Admission.forStrangers.inside && waiting.count <= Admission.forStrangers.acceptQueue)
    }
  }
}
