import Expectations
import TestSupport
import Testing

@testable import MigrationEngine

/// Which connections are let in, stay, and are turned away.
@Suite struct AdmissionTests {
  private typealias Ticket = Admission.Ticket

  /// The origin of a host; hosts of one network share its places.
  private func origin(_ host: Int, network: Int? = nil, isFamiliar: Bool = false) -> Admission.Origin {
    Admission.Origin(address: "host \(host)", network: "network \(network ?? host)", isFamiliar: isFamiliar)
  }

  @Test func `a full accept queue turns away a silent connection of the address with most connections`() {
    var admission = Admission()
    let (first, _) = admission.arrive(origin(1), now: 0, chance: 0)
    var others: [Ticket] = []
    for _ in 1..<Admission.forStrangers.acceptQueue { others.append(admission.arrive(origin(2), now: 0, chance: 0).0) }
    for other in others.dropLast() { admission.heard(other) }
    let (newcomer, turnedAway) = admission.arrive(origin(3), now: 0, chance: 7)
    expect(turnedAway, is: others.last)
    expect(turnedAway != first && turnedAway != newcomer)
    expect(admission.count, is: Admission.forStrangers.acceptQueue)
  }

  @Test func `networks share places before addresses do`() {
    var admission = Admission()
    // One network with one address and three connections, and one network of many addresses with
    // all the others.
    let lone = (0..<3).map { _ in admission.arrive(origin(1), now: 0, chance: 0).0 }
    for host in 0..<Admission.forStrangers.acceptQueue - 3 {
      _ = admission.arrive(origin(100 + host, network: 2), now: 0, chance: 0)
    }
    for chance in 0..<100 as Range<UInt64> {
      let (_, turnedAway) = admission.arrive(origin(1000 + Int(chance), network: 2), now: 0, chance: chance)
      expect(turnedAway.map { !lone.contains($0) }, is: true)
    }
  }

  @Test func `chance decides between equals, age does not, and equal chance decides equally`() {
    for chance in [0, 1, 100, 256] as [UInt64] {
      var admission = Admission()
      var tickets: [Ticket] = []
      for host in 0..<Admission.forStrangers.acceptQueue {
        tickets.append(admission.arrive(origin(host), now: Double(host), chance: 0).0)
      }
      let (newcomer, turnedAway) = admission.arrive(origin(999), now: 300, chance: chance)
      expect(turnedAway, is: (tickets + [newcomer])[Int(chance)])
    }
  }

  @Test(arguments: [1, 2]) func `connections that have ended no longer count`(network: Int) {
    var admission = Admission()
    // In a network of its own, or in the network of the other host.
    for _ in 0..<10 { admission.leave(admission.arrive(origin(1, network: network), now: 0, chance: 0).0) }
    _ = admission.arrive(origin(1, network: network), now: 0, chance: 0)
    let most = (0..<2).map { _ in admission.arrive(origin(2), now: 0, chance: 0).0 }
    for host in 3..<Admission.forStrangers.acceptQueue { _ = admission.arrive(origin(host), now: 0, chance: 0) }
    for chance in 0..<2 as Range<UInt64> {
      var admission = admission
      expect(admission.arrive(origin(1000), now: 0, chance: chance).turnedAway, is: most[Int(chance)])
    }
  }

  /// Fills every place inside, at time 0.
  private func full(_ admission: inout Admission, hosts: Int) -> [Ticket] {
    (0..<Admission.forStrangers.inside).map { number in
      let (ticket, _) = admission.arrive(origin(number % hosts), now: 0, chance: 0)
      admission.heard(ticket)
      expect(admission.letIn(now: 0, isEngaged: false, chance: 0)?.0, is: ticket)
      return ticket
    }
  }

  @Test func `a connection keeps its place for a moment after each step, then yields it to one with fewer`() {
    var admission = Admission()
    let inside = full(&admission, hosts: 2)
    let (newcomer, _) = admission.arrive(origin(9), now: 0, chance: 0)
    admission.heard(newcomer)
    expect(admission.letIn(now: 0.05, isEngaged: false, chance: 0) == nil)
    expect(admission.nextMoment(now: 0.05, isEngaged: false), is: Admission.grace)
    admission.advance(inside[0], to: .secured, now: 0.08)
    for ticket in inside[2...] { admission.advance(ticket, to: .proving, now: 0) }
    admission.advance(inside[1], to: .asking, now: 0)
    let entry = admission.letIn(now: 0.1, isEngaged: false, chance: 3)
    expect(entry?.0, is: newcomer)
    // The connection with the least progress makes room, among those whose moment has passed.
    expect(entry?.evicted, is: inside[1])
  }

  @Test func `the grace counts from being let in, not from the connection's arrival`() {
    var admission = Admission()
    for host in 0..<Admission.forStrangers.inside {
      admission.heard(admission.arrive(origin(host), now: 0, chance: 0).0)
    }
    while admission.letIn(now: 1, isEngaged: false, chance: 0) != nil {}
    admission.heard(admission.arrive(origin(0), now: 1, chance: 0).0)
    expect(admission.nextMoment(now: 1, isEngaged: false), is: 1 + Admission.grace)
    let early = admission.letIn(now: 1 + Admission.grace / 2, isEngaged: false, chance: 0)
    let late = admission.letIn(now: 1 + Admission.grace, isEngaged: false, chance: 0)
    expect(early == nil && late != nil)
  }

  @Test func `an address cannot displace an address with fewer connections`() {
    var admission = Admission()
    let inside = full(&admission, hosts: Admission.forStrangers.inside)
    let (greedy, _) = admission.arrive(origin(0), now: 1, chance: 0)
    admission.heard(greedy)
    // Only its own connection makes room for it.
    expect(admission.letIn(now: 1, isEngaged: false, chance: 11)?.evicted, is: inside[0])
  }

  @Test func `within a network an address yields a place to an address with fewer`() {
    var admission = Admission()
    func letIn(_ host: Int, at now: Double) -> (Ticket, evicted: Ticket?)? {
      admission.heard(admission.arrive(origin(host, network: 1), now: now, chance: 0).0)
      return admission.letIn(now: now, isEngaged: false, chance: 0)
    }
    let modest = letIn(1, at: 0)?.0
    let greedy = (1..<Admission.forStrangers.inside).compactMap { _ in letIn(2, at: 0)?.0 }
    let evicted = letIn(1, at: 1)?.evicted
    expect(modest != nil && greedy.count == Admission.forStrangers.inside - 1)
    expect(greedy.contains { $0 == evicted })
  }

  @Test func `during a session the next moment of admission is known`() {
    var admission = Admission()
    for host in 0...Int(Admission.forStrangers.burst) {
      admission.heard(admission.arrive(origin(host), now: 0, chance: 0).0)
    }
    while admission.letIn(now: 0, isEngaged: true, chance: 0) != nil {}
    expect(admission.nextMoment(now: 0, isEngaged: true), is: 1 / Admission.forStrangers.rate)
    // Without a session, waiting connections are let in at once and need no moment.
    expect(admission.nextMoment(now: 0, isEngaged: false), is: ReadyLimits.acceptQueue)
  }

  @Test func `connections whose time has ended leave in their order of arrival`() {
    var admission = Admission()
    let tickets = (0..<100).map { admission.arrive(origin($0), now: 0, chance: 0).0 }
    expect(admission.expire(now: ReadyLimits.acceptQueue), is: tickets)
  }

  @Test func `strangers cannot take the places of known addresses`() {
    var admission = Admission()
    _ = full(&admission, hosts: 64)
    for host in 0..<1000 { _ = admission.arrive(origin(host), now: 0, chance: UInt64(host)) }
    let (known, turnedAway) = admission.arrive(origin(5, isFamiliar: true), now: 0, chance: 0)
    expect(turnedAway == nil)
    admission.heard(known)
    let entry = admission.letIn(now: 0, isEngaged: true, chance: 0)
    expect(entry?.0 == known && entry?.evicted == nil)
  }

  @Test func `during a session strangers are let in at a limited rate`() {
    var admission = Admission()
    var entered = 0
    for step in 0..<2000 {
      let now = Double(step) / 200
      let (ticket, _) = admission.arrive(origin(step), now: now, chance: UInt64(step))
      admission.heard(ticket)
      while let (entry, _) = admission.letIn(now: now, isEngaged: true, chance: UInt64(step)) {
        entered += 1
        admission.leave(entry)
      }
    }
    expect(200...220 ~= entered)
  }

  @Test func `silent connections have less time in a filling accept queue`() {
    var admission = Admission()
    let (lone, _) = admission.arrive(origin(1), now: 0, chance: 0)
    expect(admission.expire(now: ReadyLimits.acceptQueue - 0.1), is: [])
    expect(admission.expire(now: ReadyLimits.acceptQueue), is: [lone])
    let crowd = (0...Admission.forStrangers.acceptQueue / 2).map { admission.arrive(origin($0), now: 10, chance: 0).0 }
    admission.heard(crowd[3])
    let over = admission.expire(now: 10 + Admission.shortPatience)
    expect(over.count == crowd.count - 1 && !over.contains(crowd[3]))
  }

  @Test(arguments: 0..<6 as Range<UInt64>)
  func `in any order of events, places are limited and every connection counts once`(seed: UInt64) {
    var dice = Generator(seed: seed)
    var admission = Admission()
    var (waiting, inside): (Set<Ticket>, Set<Ticket>) = ([], [])
    var now = 0.0
    for _ in 0..<2000 {
      now += Double(dice.next() % 20) / 1000
      switch dice.next() % 6 {
      case 0, 1, 2:
        let host = Int(dice.next() % 40)
        let from = origin(host, network: host / 4, isFamiliar: dice.next() % 4 == 0)
        let (ticket, turnedAway) = admission.arrive(from, now: now, chance: dice.next())
        waiting.insert(ticket)
        if let turnedAway { expect(waiting.remove(turnedAway) != nil) }
        if dice.next() % 2 == 0 { admission.heard(ticket) }
      case 3:
        guard let entry = admission.letIn(now: now, isEngaged: dice.next() % 2 == 0, chance: dice.next()) else { break }
        expect(waiting.remove(entry.0) != nil)
        inside.insert(entry.0)
        if let evicted = entry.evicted { expect(inside.remove(evicted) != nil) }
      case 4:
        for ticket in admission.expire(now: now) { expect(waiting.remove(ticket) != nil) }
      default:
        guard let ticket = inside.sorted().randomElement(using: &dice) else { break }
        if dice.next() % 2 == 0 {
          admission.advance(ticket, to: .asking, now: now)
        } else {
          admission.leave(ticket)
          inside.remove(ticket)
        }
      }
      expect(admission.count, is: waiting.count + inside.count)
      expect(inside.count { !$0.isFamiliar } <= Admission.forStrangers.inside)
      expect(inside.count { $0.isFamiliar } <= Admission.forFamiliar.inside)
      expect(waiting.count { !$0.isFamiliar } <= Admission.forStrangers.acceptQueue)
    }
  }
}
