import Expectations
import Foundation
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

@Suite(.enabled(if: Zstandard.isAvailable, "libzstd.so.1 is not here")) struct CompressionTests {
  private static let text = Data(String(repeating: "a line that comes again and again\n", count: 200_000).utf8)

  /// Sends text and noise. Returns the messages of both sides, and whether all of it arrived.
  private func move(_ preference: SenderEngine.CompressionPreference, streams: UInt32 = 1) throws -> (
    sent: TransferResult, got: TransferResult
  ) {
    let (source, destination) = (try Scratch(), try Scratch())
    let noise = patternData(3 << 20)
    source.write("tree/text", Self.text)
    source.write("tree/noise", noise)
    for number in 0..<50 { source.write("tree/small/\(number)", Data(Self.text.prefix(number * 100))) }
    let receiver = try RunningReceiver(destination)
    let sent = try send(
      [source.at("tree")], to: try receiver.port(), code: try receiver.events.code(), streams: streams,
      compression: preference)
    let got = try receiver.result()
    expect(destination.content("tree/text"), is: Self.text)
    expect(destination.content("tree/noise"), is: noise)
    for number in 0..<50 { expect(destination.content("tree/small/\(number)"), is: Self.text.prefix(number * 100)) }
    sent.expectSentOnce()
    sent.expectAgreement(with: got)
    return (sent, got)
  }

  @Test(arguments: [1, 3] as [UInt32])
  func `only data that becomes smaller is compressed, and only on request`(streams: UInt32) throws {
    let (sent, _) = try move(.always, streams: streams)
    expect(sent.savedBytes > UInt64(Self.text.count) / 10 * 9)
    expect(sent.sentBytes >= 3 << 20)
  }

  @Test func `nothing is compressed where that is asked for`() throws {
    let (sent, got) = try move(.never)
    expect((sent.savedBytes, got.savedBytes) == (0, 0))
  }

  @Test func `a broken stream's compressed frames come again on the next one`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    // Sixteen letters: half as many bytes are left, so that enough of them cross the wire to be cut
    // off.
    let letters = Data(patternData(8 << 20).map { UInt8(ascii: "a") + $0 >> 4 })
    source.write("letters", letters)
    let receiver = try RunningReceiver(destination)
    let proxy = try Proxy(to: try receiver.port()) { connection, bytes in
      connection >= 1 && connection <= 2 && bytes > 2 << 20 ? .cut : .pass
    }
    let result = try send(
      [source.at("letters")], to: proxy.port, code: try receiver.events.code(), compression: .always)
    _ = try receiver.result()
    expect(proxy.connections >= 4)
    expect(result.savedBytes > 3 << 20)
    expect(destination.content("letters"), is: letters)
    proxy.stop()
  }
}
