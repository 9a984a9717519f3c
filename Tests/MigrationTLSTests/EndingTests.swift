import Expectations
import TestSupport
import Testing

@testable import MigrationTLS

@Suite struct EndingTests {
  @Test func `a reader gets all data that was written before the close, then the close`() throws {
    var link = try Link.established()
    _ = try link.client.writeAll([1, 2, 3])
    try link.client.close()
    link.carryToServer()
    link.server.transportEnded()
    let read = try link.server.readAll()
    expect(read.bytes, is: [1, 2, 3])
    expect(read.closed)
    let again = try link.server.readAll()
    expect(again.closed)
  }

  @Test func `an end without a close is truncation, reported after all received data`() throws {
    var link = try Link.established()
    _ = try link.client.writeAll([1, 2, 3])
    link.carryToServer()
    link.server.transportEnded()
    var buffer = [UInt8](repeating: 0, count: 100)
    let step = try link.server.read(into: &buffer, 0..<buffer.count)
    expect(step, is: .bytes(3))
    for _ in 0..<2 {
      let error = #expect(throws: TLSError.self) { _ = try link.server.readAll() }
      expect(error?.code, is: .truncated)
    }
  }

  @Test func `an end within a record is truncation, at any offset`() throws {
    var sample = try Link.established()
    _ = try sample.client.writeAll([1, 2, 3])
    let count = sample.client.pendingOutput
    for kept in 0..<count {
      var link = try Link.established()
      _ = try link.client.writeAll([1, 2, 3])
      link.server.put(Array(link.client.takeOutput().prefix(kept)))
      link.server.transportEnded()
      let error = #expect(throws: TLSError.self) { _ = try link.server.readAll() }
      expect(error?.code, is: .truncated)
    }
  }

  @Test func `after a close the other direction still works`() throws {
    var link = try Link.established()
    try link.client.close()
    try link.client.close()
    link.carryToServer()
    let closed = try link.server.readAll().closed
    expect(closed)
    let message = pattern(100_000, seed: 4)
    let written = try link.server.writeAll(message)
    expect(written)
    try link.server.close()
    link.carryToClient()
    let read = try link.client.readAll()
    expect(read.bytes, is: message)
    expect(read.closed)
  }

  @Test func `a close with data unread is no error`() throws {
    var link = try Link.established()
    _ = try link.server.writeAll([1, 2, 3])
    link.carryToClient()
    try link.client.close()
    let read = try link.client.readAll()
    expect(read.bytes, is: [1, 2, 3])
  }

  @Test func `a close before the handshake sends nothing`() throws {
    var link = try Link()
    try link.client.close()
    let pending = link.client.pendingOutput
    expect(pending, is: 0)
  }
}
