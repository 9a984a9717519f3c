import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

@Suite struct LimitTests {
  @Test(
    arguments: [
      (Close.Code.interrupted, TransferFailure.Kind.connectionLost), (.violation, .failed), (.version, .failed),
      (.refused, .refused), (.exists, .refused), (.noSpace, .noSpace), (.unfit, .refused), (.storage, .failed),
      (.importFailed, .importFailed), (.exportFailed, .exportFailed), (.unknownTransfer, .refused),
      (.announcement, .failed), (.otherApp, .refused), (.silent, .connectionLost), (.superseded, .failed),
      (Close.Code(rawValue: 99), .failed),
    ] as [(Close.Code, TransferFailure.Kind)])
  func `a reason from the other device ends this one with the documented code`(
    code: Close.Code, kind: TransferFailure.Kind
  ) {
    let failure = TransferFailure(told: Close(code, "a \u{1B}[31m reason", hint: "Do \u{202E}this."))
    #expect(failure.kind == kind)
    #expect(!failure.message.unicodeScalars.contains("\u{1B}"))
    #expect(failure.hint?.unicodeScalars.contains("\u{202E}") == false)
  }
}

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
