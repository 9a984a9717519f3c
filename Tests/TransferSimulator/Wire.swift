/// A connection between the two devices: bytes each way, late, and never again after it was cut.
final class Wire {
  enum End: Int {
    case sender = 0
    case receiver = 1

    var other: End { self == .sender ? .receiver : .sender }
  }

  private struct Direction {
    var pending: [(time: Int, bytes: [UInt8])] = []
    var last = 0
  }

  let name: String
  private let world: World
  private var toward = [Direction(), Direction()]
  private var received: [(([UInt8]) -> Void)?] = [nil, nil]
  private var ended: [(() -> Void)?] = [nil, nil]
  private var hasHeard = [false, false]
  private(set) var isCut = false
  /// How long bytes take at most.
  private let delay: Int

  init(_ name: String, _ world: World) {
    self.name = name
    self.world = world
    // Now and then one is much slower than the others.
    delay = world.dice.one(in: 6) ? world.dice.roll(5_000...60_000) : world.dice.roll(10...2_000)
  }

  /// An end is there: what it does with bytes, and when it hears that the connection is gone.
  func attach(_ end: End, received: @escaping ([UInt8]) -> Void, ended: @escaping () -> Void) {
    self.received[end.rawValue] = received
    self.ended[end.rawValue] = ended
    if hasHeard[end.rawValue] { ended() }
  }

  /// An end is gone, with its process: it hears nothing any more.
  func detach(_ end: End) {
    received[end.rawValue] = nil
    ended[end.rawValue] = nil
  }

  func send(_ bytes: [UInt8], from end: End) {
    guard !isCut, !bytes.isEmpty else { return }
    let target = end.other.rawValue
    let time = max(toward[target].last, world.now + world.dice.roll(1...delay))
    toward[target].last = time
    toward[target].pending.append((time, bytes))
    world.after(time - world.now) { [self] in deliver(to: end.other) }
  }

  private func deliver(to end: End) {
    guard let first = toward[end.rawValue].pending.first, first.time <= world.now else { return }
    toward[end.rawValue].pending.removeFirst()
    if !first.bytes.isEmpty { received[end.rawValue]?(first.bytes) }
  }

  /// Everything that was sent arrives, and then both ends hear of it.
  func close(by end: End) {
    guard !isCut else { return }
    isCut = true
    hasHeard[end.rawValue] = true
    let last = max(toward[0].last, toward[1].last)
    world.after(max(0, last - world.now) + 1) { [self] in hear(end.other) }
  }

  /// The connection breaks, at any byte. Each end hears of it in its own time; a half-open one much later.
  func cut() {
    guard !isCut else { return }
    isCut = true
    for end in [End.sender, .receiver] {
      truncate(toward: end)
      let last = max(0, (toward[end.rawValue].pending.last?.time ?? 0) - world.now)
      let isHalfOpen = world.dice.one(in: 4)
      world.after(last + (isHalfOpen ? world.dice.roll(100_000...20_000_000) : world.dice.roll(1...3_000))) { [self] in
        hear(end)
      }
    }
  }

  private func truncate(toward end: End) {
    let pending = toward[end.rawValue].pending
    let total = pending.reduce(0) { $0 + $1.bytes.count }
    var rest = total == 0 ? 0 : world.dice.roll(0...total)
    // Some of what is under way comes when nobody waits for it any more.
    let late = world.dice.one(in: 3) ? world.dice.roll(1_000...200_000) : 0
    toward[end.rawValue].pending = pending.map { chunk in
      let kept = min(rest, chunk.bytes.count)
      rest -= kept
      let time = chunk.time + late
      if late > 0 { world.after(time - world.now) { [self] in deliver(to: end) } }
      return (time, Array(chunk.bytes.prefix(kept)))
    }
  }

  private func hear(_ end: End) {
    guard !hasHeard[end.rawValue] else { return }
    hasHeard[end.rawValue] = true
    ended[end.rawValue]?()
  }
}

/// The network: who can be reached, and what is connected just now.
final class Network {
  private let world: World
  /// Takes a new connection; nil while nobody listens.
  var accept: ((Wire) -> Void)?
  private(set) var wires: [Wire] = []

  init(_ world: World) { self.world = world }

  /// Connects after a while, or fails.
  func connect(_ name: String, _ done: @escaping (Wire?) -> Void) {
    world.after(world.dice.roll(50...5_000)) { [self] in
      guard let accept else { return done(nil) }
      wires.removeAll(where: \.isCut)
      let wire = Wire(name, world)
      wires.append(wire)
      accept(wire)
      done(wire)
    }
  }

  /// Cuts something, or everything.
  func cut(all: Bool) {
    let live = wires.filter { !$0.isCut }
    for wire in all ? live : [world.dice.pick(live)].compactMap({ $0 }) {
      world.note("cut \(wire.name)")
      wire.cut()
    }
  }

  var isQuiet: Bool { wires.allSatisfy(\.isCut) }
}
