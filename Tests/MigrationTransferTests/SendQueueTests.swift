import Expectations
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// Fills frames with a byte each, as many as it has.
private final class ByteSource: FrameSource {
  private struct State {
    var left: ArraySlice<UInt8>
    var isStopped = false
  }

  private let state: Mutex<State>

  init(_ bytes: ClosedRange<UInt8>) { state = Mutex(State(left: Array(bytes)[...])) }

  func add(_ byte: UInt8) { state.withLock { $0.left.append(byte) } }

  func fill(_ frame: inout FrameBuffer, written: UInt64) -> FrameFilling {
    guard let byte = state.withLock({ $0.left.popFirst() }) else { return .nothing(until: nil) }
    frame.commit([UInt8](repeating: byte, count: 16))
    frame.note(items: 1, contentBytes: 10)
    return .full
  }

  var isRead: Bool { state.withLock { $0.left.isEmpty } }
  var waitingFrames: Int { state.withLock { $0.left.count } }
  func stop() { state.withLock { $0.isStopped = true } }
  var isStopped: Bool { state.withLock { $0.isStopped } }
}

@Suite struct SendQueueTests {
  private func sent(_ next: SendQueue.Next) -> UInt8? {
    if case .send(let frame) = next { frame.bytes[0] } else { nil }
  }

  private func waits(_ next: SendQueue.Next) -> Bool { if case .wait = next { true } else { false } }

  private func isSignalled(_ wakeup: Wakeup) throws -> Bool {
    var poller = try Poller()
    return try poller.wait(for: .readable, on: wakeup.raw, until: soon()).contains(.readable)
  }

  @Test func `the window bounds how many frames there are`() throws {
    let queue = SendQueue(window: 2 * (16 + UInt64(Limits.dataHeader)), capacity: 16) { _ in }
    let wakeup = try Wakeup()
    queue.register(0, wakeup)
    queue.serve(ByteSource(1...3))
    expect(sent(queue.next(for: 0)) == 1 && sent(queue.next(for: 0)) == 2)
    expect(waits(queue.next(for: 0)))
    expect(queue.counts().arrived == Tally() && queue.counts().waitingFrames == 1)
    queue.written(1, on: 0)
    expect(try isSignalled(wakeup))
    expect(sent(queue.next(for: 0)), is: 3)
    expect(queue.counts().arrived, is: Tally(items: 1, bytes: 10))
  }

  @Test func `only its successor gets the frames of a broken stream, in order`() throws {
    let queue = SendQueue(window: 1 << 30) { _ in }
    for number in 0..<3 as Range<UInt32> { queue.register(number, try Wakeup()) }
    queue.serve(ByteSource(1...5))
    expect(sent(queue.next(for: 0)), is: 1)
    expect(sent(queue.next(for: 1)), is: 2)
    expect(sent(queue.next(for: 0)), is: 3)
    queue.lost(0, replacedBy: 2)
    expect(sent(queue.next(for: 1)), is: 4)
    expect(sent(queue.next(for: 2)), is: 1)
    queue.lost(2, replacedBy: 3)
    queue.register(3, try Wakeup())
    expect(sent(queue.next(for: 1)), is: 5)
    expect(sent(queue.next(for: 3)), is: 1)
    expect(sent(queue.next(for: 3)), is: 3)
    queue.written(2, on: 3)
    queue.written(3, on: 1)
    try queue.drain()
    expect(queue.counts().arrived.items, is: 5)
  }

  @Test func `new items wake a stream that found none`() throws {
    let queue = SendQueue(window: 1 << 30) { _ in }
    let wakeup = try Wakeup()
    queue.register(0, wakeup)
    expect(waits(queue.next(for: 0)), "there is no source")
    let source = ByteSource(1...1)
    queue.serve(source)
    expect(try isSignalled(wakeup))
    wakeup.clear()
    expect(sent(queue.next(for: 0)), is: 1)
    expect(waits(queue.next(for: 0)))
    source.add(2)
    queue.workAdded()
    expect(try isSignalled(wakeup))
    expect(sent(queue.next(for: 0)), is: 2)
  }

  @Test func `stopping ends every wait`() throws {
    let queue = SendQueue(window: 1 << 30) { _ in }
    let wakeup = try Wakeup()
    queue.register(0, wakeup)
    let source = ByteSource(1...1)
    queue.serve(source)
    expect(sent(queue.next(for: 0)), is: 1)
    wakeup.clear()
    let draining = try RunningThread("export") { try queue.drain() }
    queue.stop()
    expect(#expect(throws: Failure.self) { try draining.value() }?.code, is: .stopped)
    expect(try isSignalled(wakeup))
    expect(source.isStopped && queue.isStopped)
  }
}
