import MigrationEngine
import MigrationWire

/// A control connection in a device's loop, at READY, with real messages, heartbeats and partial
/// frames.
final class SimulatedLink {
  enum News {
    case received(ControlMessage)
    case broke(Fault)
    case drained
    case closed
  }

  private enum State {
    case open
    case broken
    case closing
    case closed
  }

  let connection: SimulatedConnection
  private let device: Device
  private let tell: (News) -> Void
  private var channel: ControlChannel
  private var state = State.open
  private var deadline = 0.0
  private var isDrainTold = true
  private var isStepDue = false
  private var hasClosedSending = false
  private var timer: Int?

  init(_ connection: SimulatedConnection, _ device: Device, _ tell: @escaping (News) -> Void) {
    self.connection = connection
    self.device = device
    self.tell = tell
    channel = ControlChannel(now: device.world.seconds)
    connection.read { [self] in step() }
    wait()
  }

  /// Whether it is neither broken nor closed on this end, and neither cut nor closed by the other
  /// end.
  var isUp: Bool { state == .open && !connection.isEnded && !connection.wire.isCut }
  /// Whether the engine has not been told of its end.
  var isOpen: Bool { state == .open }

  func say(_ message: ControlMessage) {
    channel.say(message)
    isDrainTold = false
    stepSoon()
  }

  func close(until deadline: Double) {
    if state == .closed { return }
    self.deadline = state == .closing ? min(self.deadline, deadline) : deadline
    state = .closing
    stepSoon()
    device.run(after: device.world.delay(until: deadline) + 1) { [self] in step() }
  }

  var isClosing: Bool { state == .closing }

  private func stepSoon(after delay: Int = 0) {
    guard !isStepDue else { return }
    isStepDue = true
    device.run(after: delay) { [self] in step() }
  }

  /// Waits for the next heartbeat.
  private func wait() {
    guard state == .open, channel.nextMoment < 1e9 else { return }
    let time = device.world.now + max(1, device.world.delay(until: channel.nextMoment))
    if let timer, timer <= time, timer > device.world.now { return }
    timer = time
    device.run(after: time - device.world.now) { [self] in
      timer = nil
      step()
    }
  }

  private func step() {
    isStepDue = false
    guard state != .closed, !device.isFinished || state == .closing else { return }
    switch state {
    case .open: converse()
    case .broken: send()
    case .closing: end()
    case .closed: break
    }
  }

  private func converse() {
    let now = device.world.seconds
    channel.beat(now: now)
    send()
    var news: [News] = []
    do {
      if connection.count > 0, channel.isReading { channel.received(connection.takeAll().span, now: now) }
      while let message = try channel.next() { news.append(.received(message)) }
      if news.isEmpty, connection.isEnded { throw Fault(.connection, "the other device closed the connection") }
      if news.isEmpty, channel.isSilent(now: now) { throw Fault(.connection, "the other device has been silent") }
    } catch let violation as Violation {
      news.append(.broke(Fault(violation)))
    } catch let fault as Fault {
      news.append(.broke(fault))
    } catch {
      device.world.fail("\(error)")
    }
    if case .broke = news.last { state = .broken } else if connection.isEnded { stepSoon(after: 1) }
    if state == .open, !isDrainTold, channel.isDrained {
      isDrainTold = true
      news.append(.drained)
    }
    wait()
    for one in news { tell(one) }
  }

  /// Sends the queued bytes; now and then only a part of them at first.
  private func send() {
    guard channel.unsent > 0, !connection.wire.isCut else { return }
    let dice = device.world.dice
    let count = dice.one(in: 8) ? dice.roll(1...channel.unsent) : channel.unsent
    connection.send(Array(channel.outgoing[channel.sent..<channel.sent + count]))
    channel.sent(count, now: device.world.seconds)
    if channel.unsent > 0 { stepSoon(after: dice.roll(1...2_000)) }
  }

  /// Deliberately processes messages that arrive after this end has closed.
  private func hearBehindTheEnd() {
    channel.received(connection.takeAll().span, now: device.world.seconds)
    while let message = try? channel.next() { tell(.received(message)) }
  }

  private func end() {
    send()
    if device.scene.mutation == .concludeAnotherSession { hearBehindTheEnd() } else { _ = connection.takeAll() }
    let isLate = device.world.seconds >= deadline
    if channel.unsent == 0, !hasClosedSending {
      hasClosedSending = true
      connection.closeSending()
    }
    guard isLate || connection.isEnded else { return }
    state = .closed
    connection.close()
    tell(.closed)
  }
}
