import Expectations
import MigrationArchive
import MigrationWire
import Testing

@testable import MigrationTransfer

@Suite struct SendWindowTests {
  /// Room for so many frames.
  private func window(_ frames: UInt64) -> SendQueue.UnwrittenFrames {
    SendQueue.UnwrittenFrames(frames * UInt64(16 + Limits.dataHeader), of: 16)
  }

  /// A stream fills a frame. Returns the stream that is woken, and the next task of the filling
  /// one.
  private func fill(
    _ window: inout SendQueue.UnwrittenFrames, _ byte: UInt8, by number: UInt32 = 0, length: Int = 16
  ) throws -> SendQueue.UnwrittenFrames.StreamNumber? {
    var frame = try #require(filling(window.next(for: number)))
    frame.commit([UInt8](repeating: byte, count: length))
    return window.filled(frame)
  }

  private func filling(_ task: SendQueue.UnwrittenFrames.Task) -> FrameBuffer? {
    if case .fill(let frame) = task { frame } else { nil }
  }
  private func sent(_ task: SendQueue.UnwrittenFrames.Task) -> UInt8? {
    if case .send(let frame) = task { frame.bytes[0] } else { nil }
  }
  private func isEnd(_ task: SendQueue.UnwrittenFrames.Task) -> Bool { if case .end = task { true } else { false } }
  private func waits(_ task: SendQueue.UnwrittenFrames.Task) -> Bool { if case .wait = task { true } else { false } }

  /// A stream fills frames and sends them.
  private func send(_ window: inout SendQueue.UnwrittenFrames, _ bytes: ClosedRange<UInt8>, by number: UInt32) throws {
    for byte in bytes {
      _ = try fill(&window, byte, by: number)
      expect(sent(window.next(for: number)), is: byte)
    }
  }

  @Test func `no more is under way than the window holds`() throws {
    var window = window(2)
    try send(&window, 1...2, by: 7)
    expect(waits(window.next(for: 7)) && waits(window.next(for: 8)))
    expect(window.written(1, on: 7), is: [7])
    expect(filling(window.next(for: 8)) != nil)
    expect(!window.isDrained)
  }

  @Test func `a frame that grew waits until the window has room for it, and its memory is not kept`() throws {
    var window = window(3)
    try send(&window, 1...2, by: 1)
    _ = try fill(&window, 3, by: 1, length: 40)
    expect(waits(window.next(for: 1)) && waits(window.next(for: 2)))
    _ = window.written(1, on: 1)
    expect(sent(window.next(for: 2)), is: 3)
    _ = window.written(1, on: 2)
    _ = window.written(1, on: 1)
    expect(window.isDrained)
    // All memory together is no more than the window.
    for _ in 1...5 { expect(filling(window.next(for: 1))?.bytes.count, is: 16) }
    expect(waits(window.next(for: 1)))
  }

  @Test func `another waiting stream takes the task for which a lost stream was woken`() throws {
    var window = window(1)
    try send(&window, 1...1, by: 0)
    for number in 1...2 as ClosedRange<UInt32> { expect(waits(window.next(for: number))) }
    expect(window.written(1, on: 0), is: [1])
    expect(window.lost(1, replacedBy: 3), is: 2)
    expect(filling(window.next(for: 2)) != nil)
  }

  @Test func `the receiver's claims about its holdings never overflow`() {
    var window = window(4)
    for _ in 1...4 { window.skip(items: .max, bytes: .max) }
    expect(window.arrived, is: Tally(items: .max, bytes: Limits.fileSize))
  }

  @Test func `the holes of a part are counted when they are written, and begin anew with the next part`() throws {
    var window = window(4)
    window.skip(items: 1, bytes: 5)
    var frame = try #require(filling(window.next(for: 0)))
    frame.commit([1])
    frame.note(items: 1, contentBytes: 10)
    frame.note(hole: 100)
    _ = window.filled(frame)
    expect(sent(window.next(for: 0)), is: 1)
    expect(window.progress, is: Arrived(Tally(items: 1, bytes: 5), uncounted: 5))
    _ = window.written(1, on: 0)
    expect(window.progress, is: Arrived(Tally(items: 2, bytes: 115), holes: 100, uncounted: 5))
    window.beginPart(of: nil)
    expect(window.progress, is: Arrived())
  }

  @Test func `no frame is filled while another one waits to be sent`() throws {
    var window = window(100)
    _ = try fill(&window, 1, by: 1)
    expect(sent(window.next(for: 2)), is: 1)
    expect(filling(window.next(for: 1)) != nil)
  }

  @Test func `only its replacement gets the frames of a lost stream`() throws {
    var window = window(4)
    try send(&window, 1...2, by: 0)
    _ = window.written(1, on: 0)
    window.lost(0, replacedBy: 9)
    try send(&window, 3...3, by: 1)
    expect(sent(window.next(for: 9)), is: 2)
    // Lost again before it was written.
    window.lost(9, replacedBy: 10)
    try send(&window, 4...4, by: 1)
    expect(sent(window.next(for: 10)), is: 2)
    _ = window.written(2, on: 1)
    _ = window.written(1, on: 10)
    expect(window.isDrained)
    window.finish()
    expect(isEnd(window.next(for: 1)) && isEnd(window.next(for: 10)))
  }

  @Test func `as many streams are woken as frames are written, the longest waiting first`() throws {
    var window = window(2)
    try send(&window, 1...2, by: 0)
    for number in 1...3 as ClosedRange<UInt32> { expect(waits(window.next(for: number))) }
    expect(window.written(2, on: 0), is: [1, 2])
    expect(window.wakeAll(), is: [3])
  }

  @Test func `all is written below the first frame that is filled, waits or is under way`() throws {
    var window = window(4)
    expect(window.writtenBelow, is: 1)
    try send(&window, 1...2, by: 0)
    try send(&window, 3...3, by: 1)
    _ = window.written(1, on: 1)
    expect(window.writtenBelow, is: 1)
    _ = window.written(1, on: 0)
    expect(window.writtenBelow, is: 2)
    window.lost(0, replacedBy: 5)
    expect(window.writtenBelow, is: 2)
    expect(sent(window.next(for: 5)), is: 2)
    _ = window.written(1, on: 5)
    expect(window.writtenBelow, is: 4)
    let frame = try #require(filling(window.next(for: 1)))
    expect(window.writtenBelow == 4 && !window.isDrained)
    expect(window.unfilled(frame, for: 1) == nil)
    expect(window.writtenBelow == 5 && window.isDrained)
  }

  // MARK: Streams that are to end

  @Test func `a stream that is to end gets nothing new, and ends when all of it is written`() throws {
    var window = window(4)
    try send(&window, 1...1, by: 1)
    expect(window.retire(1) == nil)
    expect(waits(window.next(for: 1)), "it waits for what it has under way")
    _ = window.written(1, on: 1)
    expect(isEnd(window.next(for: 1)))
    try send(&window, 2...2, by: 2)
  }

  @Test func `a stream that finds nothing to read sends what one that was to end has read`() throws {
    var window = window(4)
    var frame = try #require(filling(window.next(for: 1)))
    let other = try #require(filling(window.next(for: 2)))
    expect(window.retire(1) == nil)
    frame.commit([UInt8](repeating: 1, count: 16))
    expect(window.filled(frame) == nil)
    expect(isEnd(window.next(for: 1)))
    expect(window.unfilled(other, for: 2), is: 2)
    expect(sent(window.next(for: 2)), is: 1)
  }

  @Test func `a stream that finds nothing to read and is to end wakes another one`() throws {
    var window = window(4)
    let frame = try #require(filling(window.next(for: 1)))
    let other = try #require(filling(window.next(for: 2)))
    expect(window.unfilled(other, for: 2) == nil)
    expect(window.retire(1), is: 2)
    let again = try #require(filling(window.next(for: 2)))
    expect(window.unfilled(again, for: 2) == nil)
    expect(window.unfilled(frame, for: 1), is: 2)
    expect(isEnd(window.next(for: 1)))
  }

  @Test func `a stream that was woken and then is to end wakes another one`() throws {
    var window = window(1)
    try send(&window, 1...1, by: 0)
    for number in 1...3 as ClosedRange<UInt32> { expect(waits(window.next(for: number))) }
    expect(window.written(1, on: 0), is: [1])
    expect(window.retire(1), is: 2)
    expect(filling(window.next(for: 2)) != nil)
    expect(window.retire(3) == nil)
    expect(isEnd(window.next(for: 3)))
  }

  @Test func `one that breaks on its way to the end is replaced for what it had under way, and no more`() throws {
    var window = window(4)
    try send(&window, 1...1, by: 1)
    _ = window.retire(1)
    window.lost(1, replacedBy: 5)
    expect(sent(window.next(for: 5)), is: 1)
    _ = window.written(1, on: 5)
    expect(isEnd(window.next(for: 5)))
    try send(&window, 2...2, by: 2)
  }
}
