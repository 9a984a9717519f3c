import Expectations
import MigrationEngine
import MigrationWire
import Testing

@testable import PeerTransfer

@Suite struct EventBacklogTests {
  private static let spare = 256

  /// A short form of the next output.
  private func next(_ queue: inout EventBacklog) -> String? {
    switch queue.take() {
    case nil: nil
    case .missed(let count): "missed \(count)"
    case .event(.notice(let text), _): text
    case .event(.extensionOutput(_, let line), _): String(decoding: line, as: UTF8.self)
    case .event(.progress(let progress), _): "progress \(progress.bytes)"
    case .event(.interrupted(let reason), _): reason
    case .event: "other"
    }
  }

  private func all(_ queue: inout EventBacklog) -> [String] {
    var said: [String] = []
    while let one = next(&queue) { said.append(one) }
    return said
  }

  private func progress(_ bytes: UInt64) -> TransferEvent {
    .progress(TransferProgress(phase: .receiving, bytes: bytes, totalBytes: 1000, items: 1, totalItems: 2))
  }

  private func line(_ text: String) -> TransferEvent { .extensionOutput(isError: false, line: Array(text.utf8)) }

  @Test func `events of both priorities come in their order`() {
    var queue = EventBacklog()
    for event in [line("a"), .notice("b"), line("c"), line("d"), .notice("e"), progress(1)] { queue.add(event) }
    expect(all(&queue), is: ["a", "b", "c", "d", "e", "progress 1"])
    queue.add(line("f"))
    expect(all(&queue), is: ["f"])
  }

  @Test func `events that do not fit are counted, and the number is reported when there is room`() {
    var queue = EventBacklog(capacity: 4 * (Self.spare + 1))
    for text in ["a", "b", "c", "d", "e", "f"] { queue.add(line(text)) }
    expect(next(&queue), is: "a")
    expect(next(&queue), is: "b")
    expect(next(&queue), is: "missed 2")
    queue.add(line("g"))
    expect(all(&queue), is: ["c", "d", "g"])
  }

  @Test func `important events replace events of unlimited number`() {
    var queue = EventBacklog(capacity: 3 * (Self.spare + 1))
    for text in ["a", "b", "c"] { queue.add(line(text)) }
    queue.add(.notice("1"))
    queue.add(.notice("2"))
    expect(next(&queue), is: "a")
    expect(all(&queue), is: ["1", "missed 2", "2"])
  }

  @Test func `the newest important events are kept`() {
    var queue = EventBacklog(capacity: 2 * (Self.spare + 1))
    for text in ["1", "2", "3"] { queue.add(.notice(text)) }
    expect(all(&queue), is: ["2", "missed 1", "3"])
  }

  @Test func `only the latest progress is kept, and older progress does not count as missed`() {
    var queue = EventBacklog(capacity: 2 * (Self.spare + 1))
    for bytes in 1...9 as ClosedRange<UInt64> { queue.add(progress(bytes)) }
    queue.add(line("a"))
    queue.add(progress(10))
    expect(all(&queue), is: ["progress 9", "a"])
  }

  @Test func `events omitted at the end are counted too`() {
    var queue = EventBacklog()
    for event in [line("a"), .notice("b"), line("c"), progress(1)] { queue.add(event) }
    queue.shed()
    expect(all(&queue), is: ["missed 2", "b"])
  }

  @Test func `all items that a session may name as unsent fit`() {
    var queue = EventBacklog()
    let path = [UInt8](repeating: 0x61, count: Limits.notStoredBytes / Limits.notStored)
    for _ in 0..<Limits.notStored { queue.add(.notStored(NotStored(path: path, .vanished))) }
    for _ in 0..<Limits.notStored { expect(next(&queue), is: "other") }
    expect(queue.take() == nil)
  }

  @Test func `the size of an offer includes its names`() {
    var queue = EventBacklog(capacity: 1 << 20)
    let roots = (0..<60_000).map { Root(kind: .file, name: Array("\($0)".utf8)) }
    queue.add(
      .offer(
        Offer(contents: .folders(roots), items: 1, bytes: 1, allocated: 1, flags: []),
        availableBytes: nil))
    expect(all(&queue), is: ["missed 1"])
  }
}
