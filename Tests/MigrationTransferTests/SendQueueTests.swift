import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

@Suite struct SendQueueTests {
  private func frame(_ queue: SendQueue, _ byte: UInt8) throws -> FrameBuffer {
    var frame = try queue.buffer()
    frame.append([byte])
    frame.note(items: 1, contentBytes: 10)
    return frame
  }

  private func sent(_ task: SendWindow.Task) -> UInt8? {
    if case .send(let frame) = task { frame.bytes[0] } else { nil }
  }

  @Test func `the window bounds how many frames there are`() throws {
    let queue = SendQueue(window: UInt64(Limits.frameBody) * 2) { _ in }
    let wakeup = try Wakeup()
    queue.register(0, wakeup)
    try queue.submit(try frame(queue, 1))
    try queue.submit(try frame(queue, 2))
    let third = try RunningThread("export") { _ = try queue.buffer() }
    #expect(sent(queue.next(for: 0)) == 1)
    #expect(queue.arrived == Tally())
    queue.written(1, on: 0)
    try third.value()
    #expect(queue.arrived == Tally(items: 1, bytes: 10))
  }

  @Test func `what a broken stream had under way goes to its successor alone, in order`() throws {
    let queue = SendQueue(window: 1 << 30) { _ in }
    for number in 0..<3 as Range<UInt32> { queue.register(number, try Wakeup()) }
    for byte in 1...5 as ClosedRange<UInt8> { try queue.submit(try frame(queue, byte)) }
    #expect(sent(queue.next(for: 0)) == 1)
    #expect(sent(queue.next(for: 1)) == 2)
    #expect(sent(queue.next(for: 0)) == 3)
    queue.lost(0, replacedBy: 2)
    #expect(sent(queue.next(for: 1)) == 4)
    #expect(sent(queue.next(for: 2)) == 1)
    queue.lost(2, replacedBy: 3)
    queue.register(3, try Wakeup())
    #expect(sent(queue.next(for: 1)) == 5)
    #expect(sent(queue.next(for: 3)) == 1)
    #expect(sent(queue.next(for: 3)) == 3)
    queue.written(2, on: 3)
    queue.written(3, on: 1)
    try queue.drain()
    #expect(queue.arrived.items == 5)
  }

  @Test func `stopping ends every wait`() throws {
    let queue = SendQueue(window: 1 << 30) { _ in }
    let wakeup = try Wakeup()
    queue.register(0, wakeup)
    try queue.submit(try frame(queue, 1))
    let draining = try RunningThread("export") { try queue.drain() }
    queue.stop()
    #expect(#expect(throws: ArchiveError.self) { try draining.value() }?.code == .stopped)
    var poller = try Poller()
    #expect(try poller.wait(for: .readable, on: wakeup.raw, until: soon()).contains(.readable))
    #expect(throws: ArchiveError.self) { _ = try queue.buffer() }
  }
}
