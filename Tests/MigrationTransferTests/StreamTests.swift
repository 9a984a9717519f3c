import Expectations
import Foundation
import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive
@testable import MigrationTransfer

/// Many data streams at a time, and a limit on what they send.
@Suite struct StreamTests {
  /// Sends a tree from a sender with these options through a proxy. Returns the sent bytes.
  private func send(
    _ source: Scratch, to receiver: RunningReceiver, through proxy: Proxy, streams: UInt32? = nil, limit: UInt64? = nil,
    patience: Double = StallWatch.patience, seeing: @escaping @Sendable (TransferEvent) -> Void = { _ in }
  ) throws -> TransferResult {
    var options = Sender.Options(to: proxy.port, streams: streams, limit: limit, giveUpAfter: 10)
    options.stallPatience = patience
    return try RunningSender([source.at("tree")], options, code: try receiver.events.code(), seeing: seeing).result()
  }

  @Test func `a stream that fails on its way to joining ends no other`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    let big = patternData(20 << 20)
    source.write("tree/big", big)
    let receiver = try RunningReceiver(destination, giveUpAfter: 10)
    let proxy = try Proxy(to: try receiver.port(), refusing: 2...2) { _, _ in .pass }
    let sent = try send(source, to: receiver, through: proxy, streams: 2, limit: 10_000_000)
    // The conversation, two streams, and the replacement of the refused one.
    expect(proxy.connections, is: 4)
    sent.expectSentOnce()
    sent.expectAgreement(with: try receiver.result())
    expect(destination.content("tree/big"), is: big)
    proxy.stop()
  }

  @Test func `where no more connections are let through, one does it all and is left alone`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    let big = patternData(20 << 20)
    source.write("tree/big", big)
    let receiver = try RunningReceiver(destination, giveUpAfter: 10)
    let proxy = try Proxy(to: try receiver.port(), refusing: 2...Int.max) { _, _ in .pass }
    let sent = try send(source, to: receiver, through: proxy, streams: 8, limit: 10_000_000)
    // Nothing was sent twice: the stream that carries everything was never replaced.
    sent.expectSentOnce()
    expect((3...2 + 7 * 4).contains(proxy.connections))
    expect(destination.content("tree/big"), is: big)
    _ = try receiver.result()
    proxy.stop()
  }

  @Test func `no more streams are opened than the receiver takes`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    source.write("tree/big", patternData(60 << 20))
    let receiver = try RunningReceiver(destination)
    let proxy = try Proxy(to: try receiver.port()) { _, _ in .pass }
    _ = try send(source, to: receiver, through: proxy, streams: 64)
    expect(proxy.connections <= 1 + Int(ReceiverEngine.streams))
    _ = try receiver.result()
    proxy.stop()
  }

  @Test func `a limit holds for all streams together`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    source.write("tree/big", patternData(3_000_000))
    for number in 0..<200 { source.write("tree/small/\(number)", patternData(5_000, seed: UInt64(number))) }
    let receiver = try RunningReceiver(destination)
    // No data precedes the offer. The proxy may see another connection's bytes late.
    let offered = Mutex<BootInstant?>(nil)
    let proxy = try Proxy(to: try receiver.port()) { _, _ in .pass }
    let sent = try send(
      source, to: receiver, through: proxy, streams: 3, limit: 2_000_000,
      seeing: { event in if case .offer = event { offered.withLock { $0 = .now() } } })
    let begun = try #require(offered.withLock { $0 })
    // 4 MB. The time beyond two seconds depends on the machine's other load.
    expect(BootInstant.now().seconds(since: begun) > 1.95)
    sent.expectSentOnce()
    sent.expectAgreement(with: try receiver.result())
    proxy.stop()
  }

  @Test func `a stream that waits for the limit is not taken for dead`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    source.write("tree/file", patternData(300))
    let receiver = try RunningReceiver(destination)
    let proxy = try Proxy(to: try receiver.port()) { _, _ in .pass }
    _ = try send(source, to: receiver, through: proxy, limit: 60, patience: 2.4)
    expect(proxy.connections, is: 2)
    expect(destination.content("tree/file"), is: patternData(300))
    _ = try receiver.result()
    proxy.stop()
  }

  @Test func `interrupting does not wait for the limit`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    source.write("tree/file", patternData(2_000_000))
    let receiver = try RunningReceiver(destination)
    let sender = try RunningSender(
      [source.at("tree")], Sender.Options(to: try receiver.port(), limit: 1_000), code: try receiver.events.code())
    try sender.events.first { if case .progress(let progress) = $0, progress.phase == .sending { () } else { nil } }
    // The rest would take half an hour.
    expect(sender.stop()?.kind, is: .interrupted)
    receiver.stop()
  }
}
