import FuzzDriver
import MigrationEngine

/// Connections of a few addresses arrive, speak, are let in, advance and leave. Each has one place
/// at most, the places are not exceeded, and time that is told does not stand still.
struct AdmissionWalk {
  /// Enough to fill the places.
  private static let mostArrivals: UInt64 = 350

  private var input: InputBytes
  private var admission = Admission(Admission.forStrangers)
  private var now = 0.0
  private var arrivals: UInt64 = 0
  private var acceptQueue: Set<ConnectionID> = []
  private var inside: Set<ConnectionID> = []

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
    case 2: if let one = acceptQueue.min() { admission.heard(one) }
    case 3: for one in acceptQueue.sorted().prefix(input.flag() ? 2 : 80) { admission.heard(one) }
    case 4: letIn(isPaced: input.flag())
    case 5: pass()
    case 6: moveOn()
    default:
      let one = admission.dismissOne(chance: input.u64())
      promise((one == nil) == acceptQueue.isEmpty, "an accept queue is taken for another")
      if let one { Self.remove(one, from: &acceptQueue, "a connection is dismissed that is not in the accept queue") }
    }
  }

  private static func remove(_ id: ConnectionID, from places: inout Set<ConnectionID>, _ broken: String) {
    promise(places.remove(id) != nil, broken)
  }

  private mutating func arrive(_ count: Int) {
    let first = input.byte()
    for index in 0..<count where arrivals < Self.mostArrivals {
      arrivals += 1
      let from = first &+ UInt8(truncatingIfNeeded: index)
      let id = ConnectionID(arrivals)
      let turnedAway = admission.arrive(
        id, from: Remote(host: "\(from)", network: "\(from >> 2)"), now: now, chance: UInt64(from))
      acceptQueue.insert(id)
      if let turnedAway {
        Self.remove(turnedAway, from: &acceptQueue, "a connection is turned away that is not in the accept queue")
      }
    }
  }

  private mutating func letIn(isPaced: Bool) {
    let chance = input.u64()
    for _ in 0..<100 {
      guard let (id, evicted) = admission.letIn(now: now, isPaced: isPaced, chance: chance) else { return }
      Self.remove(id, from: &acceptQueue, "a connection is let in that is not in the accept queue")
      if let evicted { Self.remove(evicted, from: &inside, "a connection makes room that is not inside") }
      inside.insert(id)
    }
  }

  /// A connection advances, or leaves.
  private mutating func moveOn() {
    guard let one = (input.flag() ? inside : acceptQueue).min() else { return }
    if input.flag() {
      admission.advance(one, to: [.greeting, .secured, .asking][input.number(below: 3)], now: now)
    } else {
      admission.leave(one)
      acceptQueue.remove(one)
      inside.remove(one)
    }
  }

  private mutating func pass() {
    now += input.seconds()
    for one in admission.expire(now: now) {
      Self.remove(one, from: &acceptQueue, "a connection expires that is not in the accept queue")
    }
  }

  private func check() {
    promise(acceptQueue.count <= Admission.forStrangers.acceptQueue, "\(acceptQueue.count) wait")
    promise(inside.count <= Admission.forStrangers.inside, "\(inside.count) are inside")
    promise(admission.count == acceptQueue.count + inside.count, "connections are counted wrongly")
    let mayChange = admission.nextMoment(now: now, isPaced: false) != nil
    promise(mayChange || acceptQueue.isEmpty, "an accept queue waits for nothing")
  }
}
