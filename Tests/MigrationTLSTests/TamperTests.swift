import Expectations
import TestSupport
import Testing

@testable import MigrationTLS

@Suite struct TamperTests {
  @Test func `any altered byte of a message ends the session and yields nothing`() throws {
    let message = pattern(100, seed: 6)
    var sample = try Link.established()
    _ = try sample.client.writeAll(message)
    for position in 0..<sample.client.pendingOutput {
      var link = try Link.established()
      _ = try link.client.writeAll(message)
      var ciphertext = link.client.takeOutput()
      ciphertext[position] ^= 0x04
      link.server.put(ciphertext)
      link.server.transportEnded()
      let error = #expect(throws: TLSError.self, "byte \(position)") { _ = try link.server.readAll() }
      // A longer length makes the record wait for bytes that never come.
      expect(error?.code == .protocolViolation || (error?.code == .truncated && (3...4).contains(position)))
    }
  }

  @Test(arguments: [20_000, 70_000, 99_000])
  func `the data before an altered byte is intact, and nothing follows it`(position: Int) throws {
    let message = pattern(100_000, seed: 8)
    var link = try Link.established()
    _ = try link.client.writeAll(message)
    var ciphertext = link.client.takeOutput()
    ciphertext[position] ^= 1
    link.server.put(ciphertext)
    var received: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1_000)
    let error = #expect(throws: TLSError.self) {
      while case .bytes(let count) = try link.server.read(into: &buffer, 0..<buffer.count) {
        received += buffer[..<count]
      }
    }
    expect(error?.code, is: .protocolViolation)
    expect(received, is: Array(message.prefix(position / (16_384 + 22) * 16_384)))
    link.carryToClient()
    let alert = #expect(throws: TLSError.self) { _ = try link.client.readAll() }
    expect(alert?.code, is: .handshakeRefused)
  }

  @Test func `a record that comes twice or is left out ends the session`() throws {
    for repeated in [true, false] {
      var link = try Link.established()
      _ = try link.client.writeAll([1])
      let first = link.client.takeOutput()
      _ = try link.client.writeAll([2])
      let second = link.client.takeOutput()
      link.server.put(repeated ? first + first : second)
      let error = #expect(throws: TLSError.self) {
        _ = try link.server.readAll()
        _ = try link.server.readAll()
      }
      expect(error?.code, is: .protocolViolation)
    }
  }

  @Test func `an altered byte of the handshake never leads to a session`() throws {
    var sample = try Link()
    _ = try sample.client.handshake()
    sample.carryToServer()
    _ = try sample.server.handshake()
    let count = sample.server.pendingOutput
    for position in stride(from: 0, to: count, by: 13) {
      var link = try Link()
      _ = try link.client.handshake()
      link.carryToServer()
      _ = try link.server.handshake()
      var ciphertext = link.server.takeOutput()
      try #require(position < ciphertext.count + 8)
      ciphertext[min(position, ciphertext.count - 1)] ^= 1
      link.client.put(ciphertext)
      link.client.transportEnded()
      #expect(throws: TLSError.self, "byte \(position)") { _ = try link.client.handshake() }
    }
  }
}
