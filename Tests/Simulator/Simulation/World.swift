/// Time and its events: in their order, on one thread.
final class World {
  /// Microseconds since the start.
  private(set) var now = 0
  let dice: Dice
  let trace: Trace
  private var events: [Event] = []
  private var sequence = 0
  /// The first promise that was found broken.
  private(set) var broken: String?

  private struct Event {
    let time: Int
    let sequence: Int
    let body: () -> Void

    func isBefore(_ other: Event) -> Bool { (time, sequence) < (other.time, other.sequence) }
  }

  init(seed: UInt64, keepsTrace: Bool) {
    dice = Dice(seed: seed)
    trace = Trace(keepsAll: keepsTrace)
  }

  /// Does something after a delay.
  func after(_ delay: Int, _ body: @escaping () -> Void) {
    sequence += 1
    events.append(Event(time: now + max(0, delay), sequence: sequence, body: body))
    var child = events.count - 1
    while child > 0, events[child].isBefore(events[(child - 1) / 2]) {
      events.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  /// The time of the next event.
  var nextTime: Int? { events.first?.time }

  /// Removes all events.
  func letGo() { events = [] }

  /// Lets the next event happen; false when none is left.
  func step() -> Bool {
    guard let first = events.first else { return false }
    let last = events.removeLast()
    if !events.isEmpty {
      events[0] = last
      sink()
    }
    now = max(now, first.time)
    trace.mix(UInt64(now), UInt64(first.sequence))
    first.body()
    return true
  }

  private func sink() {
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < events.count && events[child].isBefore(events[least])
      {
        least = child
      }
      if least == parent { return }
      events.swapAt(parent, least)
      parent = least
    }
  }

  /// Seconds since the start, as the engines count.
  var seconds: Double { Double(now) / 1e6 }

  /// Microseconds from now to a moment in seconds; 0 if it has passed.
  func delay(until moment: Double) -> Int {
    moment < 1e9 ? max(0, Int((moment * 1e6).rounded(.up)) - now) : Int(1e15)
  }

  func note(_ text: @autoclosure () -> String) { if trace.keepsAll { trace.note(now, text()) } }

  /// A promise is broken; only the first counts.
  func fail(_ what: String) {
    note("BROKEN: \(what)")
    if broken == nil { broken = what }
  }

  func check(_ holds: Bool, _ what: @autoclosure () -> String) {
    if !holds { fail(what()) }
  }
}

/// The events of a simulation: as text if requested, and as a fingerprint of all of them.
final class Trace {
  let keepsAll: Bool
  private(set) var lines: [String] = []
  private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325

  init(keepsAll: Bool) { self.keepsAll = keepsAll }

  func note(_ time: Int, _ text: String) { lines.append("\(time) \(text)") }

  /// Adds two numbers to the fingerprint.
  func mix(_ one: UInt64, _ other: UInt64) {
    hash = (hash ^ one) &* 0x9E37_79B9_7F4A_7C15
    hash = (hash ^ other ^ hash >> 29) &* 0x100_0000_01B3
  }
}
