/// A connection between two devices: bytes in both directions, delayed, and none after a cut.
final class Wire {
  /// The end that connected, and the end that was listening.
  enum End: Int {
    case client = 0
    case server = 1

    var other: End { self == .client ? .server : .client }
  }

  private struct Direction {
    var pending: [(time: Int, bytes: [UInt8])] = []
    var last = 0
    /// Whether the sending end has closed.
    var isClosed = false
    /// Whether the receiving end has been told that nothing more comes.
    var isOverTold = false
  }

  let name: String
  private let world: World
  /// The bytes on their way to the client, and to the server.
  private var toward = [Direction(), Direction()]
  private var ends: [SimulatedConnection?] = [nil, nil]
  private(set) var isCut = false
  /// The longest delay of bytes.
  private let delay: Int

  init(_ name: String, _ world: World) {
    self.name = name
    self.world = world
    // Now and then a connection is much slower than the others.
    delay = world.dice.one(in: 6) ? world.dice.roll(5_000...60_000) : world.dice.roll(10...2_000)
  }

  /// A device takes its end.
  func attach(_ end: End, _ connection: SimulatedConnection) { ends[end.rawValue] = connection }

  /// Its devices have ended.
  func letGo() {
    for connection in ends { connection?.stopReading() }
    ends = [nil, nil]
  }

  func device(at end: End) -> Device? { ends[end.rawValue]?.device }

  /// Whether both ends have closed it, or it was cut.
  var isOver: Bool { isCut || toward[0].isClosed && toward[1].isClosed }

  func send(_ bytes: [UInt8], from end: End) {
    let target = end.other.rawValue
    guard !isCut, !bytes.isEmpty, !toward[target].isClosed else { return }
    let time = max(toward[target].last, world.now + world.dice.roll(1...delay))
    toward[target].last = time
    toward[target].pending.append((time, bytes))
    world.after(time - world.now) { [self] in deliver(to: end.other) }
  }

  private func deliver(to end: End) {
    guard let first = toward[end.rawValue].pending.first, first.time <= world.now else { return }
    toward[end.rawValue].pending.removeFirst()
    if !first.bytes.isEmpty { ends[end.rawValue]?.arrived(first.bytes) }
  }

  /// Everything that was sent arrives, and then the other end learns of the end.
  func close(by end: End) {
    let target = end.other.rawValue
    guard !isCut, !toward[target].isClosed else { return }
    toward[target].isClosed = true
    world.after(max(0, toward[target].last - world.now) + 1) { [self] in hear(end.other) }
  }

  /// The connection breaks, at any byte. Each end learns of it at a different time; half-open ends
  /// learn much later. With `isLate` everything that was sent arrives, but later than either end
  /// expects.
  func cut(isLate: Bool = false) {
    guard !isCut else { return }
    isCut = true
    for end in [End.client, .server] {
      if isLate { putOff(toward: end) } else { truncate(toward: end) }
      // Late bytes arrive before the end is noticed.
      let last = max(0, (toward[end.rawValue].pending.last?.time ?? 0) - world.now)
      let isHalfOpen = world.dice.one(in: 4)
      world.after(last + (isHalfOpen ? world.dice.roll(100_000...40_000_000) : world.dice.roll(1...3_000))) { [self] in
        hear(end)
      }
    }
  }

  private func truncate(toward end: End) {
    let pending = toward[end.rawValue].pending
    let total = pending.reduce(0) { $0 + $1.bytes.count }
    var rest = total == 0 ? 0 : world.dice.one(in: 3) ? total : world.dice.roll(0...total)
    // Some of the bytes under way arrive later than expected.
    let late = world.dice.one(in: 3) ? world.dice.roll(1_000...(world.dice.one(in: 3) ? 5_000_000 : 200_000)) : 0
    toward[end.rawValue].pending = pending.map { chunk in
      let kept = min(rest, chunk.bytes.count)
      rest -= kept
      let time = chunk.time + late
      if late > 0 { world.after(time - world.now) { [self] in deliver(to: end) } }
      return (time, Array(chunk.bytes.prefix(kept)))
    }
  }

  private func putOff(toward end: End) {
    // About when the other end has come back, or at any time.
    let late = world.dice.roll(world.dice.one(in: 2) ? 80_000...200_000 : 50_000...1_500_000)
    toward[end.rawValue].pending = toward[end.rawValue].pending.map { ($0.time + late, $0.bytes) }
    for chunk in toward[end.rawValue].pending { world.after(chunk.time - world.now) { [self] in deliver(to: end) } }
  }

  private func hear(_ end: End) {
    guard !toward[end.rawValue].isOverTold else { return }
    toward[end.rawValue].isOverTold = true
    ends[end.rawValue]?.heardEnd()
  }
}

/// The network: the devices that can be reached, and the present connections.
final class Network {
  private let world: World
  /// Accepts a new connection from a host; nil while no device listens.
  var accept: ((Wire, _ host: String) -> Void)?
  private(set) var wires: [Wire] = []
  private var earlierWires: [Wire] = []

  init(_ world: World) { self.world = world }

  /// Connects at once, if a device listens; or to another device that has the address.
  func connect(_ name: @autoclosure () -> String, from host: String, to other: ((Wire, String) -> Void)? = nil) -> Wire?
  {
    guard let accept = other ?? accept else { return nil }
    earlierWires += wires.filter(\.isOver)
    wires.removeAll(where: \.isOver)
    let wire = Wire(world.trace.keepsAll ? name() : "", world)
    wires.append(wire)
    accept(wire, host)
    return wire
  }

  /// The simulation has ended: breaks reference cycles.
  func letGo() {
    accept = nil
    for wire in earlierWires + wires { wire.letGo() }
  }

  /// Cuts some connections, or all.
  func cut(all: Bool, isLate: Bool = false) {
    let live = wires.filter { !$0.isOver }
    for wire in all ? live : [world.dice.pick(live)].compactMap({ $0 }) {
      world.note("cut \(wire.name)")
      wire.cut(isLate: isLate)
    }
  }
}
