import COpenSSL
import Expectations
import TestSupport
import Testing

@testable import MigrationTLS

@Suite struct TransferTests {
  @Test func `single bytes of ciphertext make whole messages`() throws {
    var link = try Link.established(batch: 1)
    let message = pattern(5_000, seed: 3)
    let written = try link.client.writeAll(message)
    expect(written)
    var received: [UInt8] = []
    while link.carryToServer(1) > 0 { received += try link.server.readAll().bytes }
    expect(received, is: message)
  }

  @Test(arguments: [(TLSSession.defaultBufferSize, Int.max), (40_000, 3_333), (1_000, 777)])
  func `both directions carry 32 MiB at once and intact`(bufferSize: Int, batch: Int) throws {
    var link = try Link.established(bufferSize: bufferSize)
    try expectFullDuplex(&link, count: 32 << 20, batch: batch)
  }

  @Test func `keys are renewed over and over in full duplex`() throws {
    var link = try Link.established(recordsPerKey: 3)
    try expectFullDuplex(&link, count: 32 << 20, batch: .max)
    let updates = [link.client.keyUpdates, link.server.keyUpdates]
    // 32 MiB are 2,048 records, if all were full.
    expect(updates.allSatisfy { $0 >= 2_048 / 3 - 1 })
    let bindings = (try link.client.channelBinding(), try link.server.channelBinding())
    expect(bindings.0, is: bindings.1)
  }

  @Test func `a key serves for its number of records and no longer`() throws {
    var link = try Link.established(recordsPerKey: 4)
    var sizes: [Int] = []
    for _ in 0..<9 {
      _ = try link.client.writeAll([1])
      sizes.append(link.client.takeOutput().count)
    }
    // A record of one byte, and before the fifth and the ninth the message that renews the key.
    expect(sizes, is: [23, 23, 23, 23, 50, 23, 23, 23, 50])
  }

  @Test func `a renewed key does not ask the peer for another`() throws {
    var link = try Link.established(recordsPerKey: 1)
    for _ in 0..<3 { _ = try link.client.writeAll([1]) }
    link.carryToServer()
    let read = try link.server.readAll()
    expect(read.bytes, is: [1, 1, 1])
    _ = try link.server.writeAll([2])
    // One record of one byte: no message about keys comes before it.
    let pending = link.server.pendingOutput
    expect(pending, is: 23)
  }

  @Test func `the output stops at its mark and resumes when it is sent`() throws {
    var link = try Link.established(bufferSize: 50_000)
    let message = pattern(1 << 20, seed: 5)
    let first = try link.client.write(message.span)
    // The record that crosses the mark is the last.
    expect(first, is: .bytes(4 * 16_384))
    let pending = link.client.pendingOutput
    expect(pending, is: 4 * (16_384 + 22))
    let refused = try link.client.write(message.span)
    expect(refused, is: .full)
    link.carryToServer(20_000)
    let next = try link.client.write(message.span.extracting(droppingFirst: 65_536))
    expect(next, is: .bytes(16_384))
    let room = link.server.inputSpace
    expect(room, is: 30_000)
  }

  @Test func `a read fills its buffer across records`() throws {
    var link = try Link.established()
    let message = pattern(100_000, seed: 9)
    _ = try link.client.writeAll(message)
    link.carryToServer()
    var buffer = [UInt8](repeating: 0, count: 70_000)
    let first = try link.server.read(into: &buffer, 0..<buffer.count)
    expect(first, is: .bytes(70_000))
    expect(buffer, is: Array(message.prefix(70_000)))
    let second = try link.server.read(into: &buffer, 0..<buffer.count)
    expect(second, is: .bytes(30_000))
    expect(Array(buffer.prefix(30_000)), is: Array(message.suffix(30_000)))
    let third = try link.server.read(into: &buffer, 0..<buffer.count)
    expect(third, is: .needsInput)
  }

  @Test func `a peer that asks for new keys over and over cannot make the output grow`() throws {
    var link = try Link.established(bufferSize: 1_000)
    let limit = 1_000 + 64 << 10
    var error: TLSError?
    for _ in 0..<10_000 where error == nil {
      link.client.withPointer { _ = SSL_key_update($0, SSL_KEY_UPDATE_REQUESTED) }
      _ = try link.client.writeAll([1])
      link.carryToServer()
      do { _ = try link.server.readAll() } catch let caught { error = caught as? TLSError }
      let pending = link.server.pendingOutput
      try #require(pending <= limit)
    }
    expect(error?.code, is: .protocolViolation)
  }

  private func expectFullDuplex(_ link: inout Link, count: Int, batch: Int) throws {
    var toServer = Flow(pattern(count, seed: 1))
    var toClient = Flow(pattern(count, seed: 2))
    var rounds = 0
    while !toServer.isDone || !toClient.isDone {
      rounds += 1
      try #require(rounds < 1_000_000, "nothing moves")
      try toServer.write(to: &link.client)
      try toClient.write(to: &link.server)
      link.carryToServer(batch)
      link.carryToClient(batch)
      try toServer.read(from: &link.server)
      try toClient.read(from: &link.client)
    }
    expect(toServer.isIntact)
    expect(toClient.isIntact)
  }
}

/// One direction's bytes: the number of written bytes, and whether the read bytes are the same.
private struct Flow {
  private let bytes: [UInt8]
  private var written = 0
  private var read = 0
  private var buffer = [UInt8](repeating: 0, count: 300_000)
  private(set) var isIntact = true

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  var isDone: Bool { read == bytes.count }

  mutating func write(to session: inout TLSSession) throws {
    let end = min(bytes.count, written + 1 << 20)
    let step = try session.write(bytes.span.extracting(written..<end))
    if case .bytes(let count) = step { written += count }
  }

  mutating func read(from session: inout TLSSession) throws {
    while case .bytes(let count) = try session.read(into: &buffer, 0..<buffer.count) {
      isIntact =
        isIntact && read + count <= bytes.count
        && bytes.withUnsafeBytes { CRYPTO_memcmp(buffer, $0.baseAddress! + read, count) == 0 }
      read += count
    }
  }
}
