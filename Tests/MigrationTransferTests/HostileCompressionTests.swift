import Expectations
import Foundation
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// A paired device that abuses compressed frames: refused as a breach of the protocol, in the
/// memory of one frame.
@Suite(.enabled(if: Zstandard.isAvailable, "libzstd.so.1 is not here")) struct HostileCompressionTests {
  private static let root = Root(kind: .directory, name: Array("root".utf8))
  private static let content = Array(String(repeating: "again and again, ", count: 10_000).utf8)

  /// A DATA frame that says it is compressed.
  private static func frame(_ payload: [UInt8], plainLength: Int) -> [UInt8] {
    let header = DataHeader(sequence: 0, encoding: .zstd, plainLength: plainLength)
    return StreamMessage.data(header).frame(payload: payload.count) + payload
  }

  private static func compressed(_ bytes: [UInt8]) throws -> [UInt8] {
    guard let compressor = Zstandard() else { throw Violation(.unknown, "a test") }
    var buffer = [UInt8](repeating: 0, count: bytes.count + 1000)
    return Array(buffer[..<(try #require(compressor.compress(bytes.span, into: &buffer)))])
  }

  /// The entries of one directory and one file, and the FINISH that counts them.
  private static func archive(_ accept: Begun) throws -> (entries: [UInt8], finish: Finish) {
    let directory = ItemRecord(path: try ArchivePath(Array("root".utf8)), generation: 1, body: .directory, mode: 0o755)
    let file = ItemRecord(
      path: try ArchivePath(Array("root/a".utf8)), generation: 1, body: .file(size: UInt64(content.count)), mode: 0o644)
    var frame = StrangeFrame()
    frame.item(directory)
    frame.file(file, content, accept.keys)
    let digest = [directory, file].reduce(UInt128(0)) {
      $0 &+ accept.keys.mark(path: $1.path, generation: $1.generation)
    }
    return (
      frame.plain, Finish(total: Tally(items: 2, bytes: UInt64(content.count)), unsent: 0, digest: digest)
    )
  }

  /// Sends one frame to a receiver that may be sent compressed ones, and requires a refusal.
  private func expectRefused(
    features: Features = .zstd, _ make: ([UInt8]) throws -> [UInt8]
  ) throws {
    let destination = try Scratch()
    let receiver = try RunningReceiver(destination)
    let port = try receiver.port()
    var sender = try StrangeClient(port: port).pair(try receiver.events.code())
    let accept = try #require(try sender.begin(StrangeSender.offer([Self.root]), features: features))
    var stream = try sender.join(port, Join(session: accept.session, stream: 0))
    try stream.say(try make(try Self.archive(accept).entries))
    expect(try sender.closeCode(), is: .violation)
    // The receiver waits a moment for a sender that does not close.
    stream.connection.close()
    sender.control.close()
    expect(receiver.failure()?.kind, is: .failed)
    expect(destination.names().allSatisfy { $0.hasPrefix(".peer-") })
  }

  @Test func `a compressed frame arrives`() throws {
    let destination = try Scratch()
    let receiver = try RunningReceiver(destination)
    let port = try receiver.port()
    var sender = try StrangeClient(port: port).pair(try receiver.events.code())
    let accept = try #require(try sender.begin(StrangeSender.offer([Self.root]), features: .zstd))
    var stream = try sender.join(port, Join(session: accept.session, stream: 0))
    let (entries, finish) = try Self.archive(accept)
    let payload = try Self.compressed(entries)
    try stream.say(Self.frame(payload, plainLength: entries.count) + StreamMessage.end.frame())
    _ = try stream.connection.readExactly(Limits.frameHeader + 16, until: soon())
    sender.control.say(.finish(finish))
    let done = try sender.next { if case .done(let done) = $0 { done } else { nil } }
    expect(done?.total, is: finish.total)
    sender.control.say(.receipt)
    sender.control.close()
    let result = try receiver.result()
    expect(result.savedBytes, is: UInt64(entries.count - payload.count))
    expect(result.sentBytes, is: UInt64(Limits.dataHeader + payload.count))
    expect(destination.content("root/a").map(Array.init), is: Self.content)
  }

  @Test func `a frame that decodes to more or to less than it says is refused`() throws {
    for difference in [-1, 1, -100_000, 100_000] {
      try expectRefused { Self.frame(try Self.compressed($0), plainLength: $0.count + difference) }
    }
  }

  @Test(arguments: [0x69, 0x70, 0xA8, 0xFF] as [UInt8])
  func `a window beyond eight mebibytes is refused, however little is behind it`(window: UInt8) throws {
    try expectRefused { entries in
      let block = entries.count << 3 | 1
      return Self.frame(
        [0x28, 0xB5, 0x2F, 0xFD, 0x00, window, UInt8(block & 0xFF), UInt8(block >> 8 & 0xFF), UInt8(block >> 16)]
          + entries, plainLength: entries.count)
    }
  }

  @Test func `a compressed frame that was not agreed on is refused`() throws {
    try expectRefused(features: []) { Self.frame(try Self.compressed($0), plainLength: $0.count) }
  }
}
