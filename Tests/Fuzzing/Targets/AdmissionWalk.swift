import FuzzDriver
import MigrationEngine

/// Connections of a few addresses arrive, speak, are let in, advance and leave. Each has one place
/// at most, the places are not exceeded, and time that is told does not stand still.
struct AdmissionWalk {
  private typealias Ticket = Admission.Ticket

  /// Enough to fill the places of strangers.
  private static let mostArrivals = 350

  private var input: InputBytes
  private var admission = Admission()
  private var now = 0.0
  private var arrivals = 0
  /// Those of strangers, and those of known addresses.
  private var acceptQueue: [Bool: Set<Ticket>] = [false: [], true: []]
  private var inside: [Bool: Set<Ticket>] = [false: [], true: []]

  init(_ input: ArraySlice<UInt8>) { self.input = InputBytes(input) }

  mutating func run() {
    while !input.isEmpty {
      step()
      check()
    }
  }

  private mutating func step() {
    switch input.byte() % 8 {
    case 0: arrive(1)
    case 1:
      let few = input.byte()
      arrive(few < 250 ? 1 + Int(few % 4) : 60)
    case 2: if let one = acceptQueue[input.flag()]?.min() { admission.heard(one) }
    case 3: for one in acceptQueue.values.joined().sorted().prefix(input.flag() ? 2 : 80) { admission.heard(one) }
    case 4: letIn(isEngaged: input.flag())
    case 5: pass()
    case 6: moveOn()
    default:
      let one = admission.dismissOne(chance: input.u64())
      promise((one == nil) == acceptQueue.values.allSatisfy(\.isEmpty), "an accept queue is taken for another")
      if let one { Self.remove(one, from: &acceptQueue, "a connection is dismissed that is not in the accept queue") }
    }
  }

  private static func remove(_ ticket: Ticket, from places: inout [Bool: Set<Ticket>], _ broken: String) {
    promise(places[ticket.isFamiliar]?.remove(ticket) != nil, broken)
  }

  private mutating func arrive(_ count: Int) {
    let first = input.byte()
    for index in 0..<min(count, Self.mostArrivals - arrivals) {
      arrivals += 1
      let from = first &+ UInt8(truncatingIfNeeded: index)
      let origin = Admission.Origin(address: "\(from)", network: "\(from >> 2)", isFamiliar: from & 3 == 0)
      let (ticket, turnedAway) = admission.arrive(origin, now: now, chance: UInt64(from))
      acceptQueue[ticket.isFamiliar]?.insert(ticket)
      if let turnedAway {
        Self.remove(turnedAway, from: &acceptQueue, "a connection is turned away that is not in the accept queue")
      }
    }
  }

  private mutating func letIn(isEngaged: Bool) {
    let chance = input.u64()
    for _ in 0..<100 {
      guard let (ticket, evicted) = admission.letIn(now: now, isEngaged: isEngaged, chance: chance) else { return }
      Self.remove(ticket, from: &acceptQueue, "a connection is let in that is not in the accept queue")
      if let evicted { Self.remove(evicted, from: &inside, "a connection makes room that is not inside") }
      inside[ticket.isFamiliar]?.insert(ticket)
    }
  }

  /// A connection advances, or leaves.
  private mutating func moveOn() {
    let isInside = input.flag()
    guard let one = (isInside ? inside : acceptQueue)[input.flag()]?.min() else { return }
    if input.flag() {
      admission.advance(one, to: [.greeting, .secured, .asking][input.number(below: 3)], now: now)
    } else {
      admission.leave(one)
      acceptQueue[one.isFamiliar]?.remove(one)
      inside[one.isFamiliar]?.remove(one)
    }
  }

  private mutating func pass() {
    now += input.seconds()
    for one in admission.expire(now: now) {
      Self.remove(one, from: &acceptQueue, "a connection expires that is not in the accept queue")
    }
  }

  private func check() {
    var count = 0
    for (kind, places) in [(false, Admission.forStrangers), (true, Admission.forFamiliar)] {
      guard let waiting = acceptQueue[kind]?.count, let welcome = inside[kind]?.count else { continue }
      promise(waiting <= places.acceptQueue, "\(waiting) wait")
      promise(welcome <= places.inside, "\(welcome) are inside")
      count += waiting + welcome
    }
    promise(admission.count == count, "connections are counted wrongly")
    let mayChange = admission.nextMoment(now: now, isEngaged: false) != nil
    promise(mayChange || acceptQueue.values.allSatisfy(\.isEmpty), "an accept queue waits for nothing")
  }
}
