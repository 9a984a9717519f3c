import Expectations
import Glibc
import TestSupport
import Testing

@testable import MigrationSystem

@Suite struct PacketSocketTests {
  /// SCM_RIGHTS, which is not available in Swift.
  private static let rights = 1

  @Test func `if a packet carries two descriptors, none is left open`() throws {
    var pair = try PacketSocket.pair()
    let sending = pair.takeOne()
    let receiving = pair.takeOther()
    var pipes: [[CInt]] = []
    for _ in 0..<2 {
      var ends: [CInt] = [0, 0]
      try #require(pipe(&ends) == 0)
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      pipes.append(ends)
    }
    try send([7], passing: pipes.map { $0[1] }, through: sending.raw)
    for ends in pipes { close(ends[1]) }
    do {
      let arrival = try receiving.receive()
      guard case .packet(let packet) = consume arrival else { return expect(Bool(false), "nothing came") }
      expect(packet.bytes, is: [7])
      let isThere = packet.descriptor != nil
      expect(isThere)
    }
    // A pipe whose other end is closed has ended. A process that another test is starting has it
    // for a moment.
    for ends in pipes {
      var poll = pollfd(fd: ends[0], events: CShort(POLLIN), revents: 0)
      expect(Glibc.poll(&poll, 1, CInt(patience) * 1_000), is: 1)
      close(ends[0])
    }
  }

  @Test func `an empty packet does not count as the end, and the next one is received`() throws {
    var pair = try PacketSocket.pair()
    let receiving = pair.takeOne()
    do {
      let sending = pair.takeOther()
      expect(Glibc.send(sending.raw, nil, 0, 0), is: 0)
      expect(try sending.send([7]))
      let error = #expect(throws: SystemError.self) { _ = try receiving.receive() }
      expect(error?.isMalformedPacket, is: true)
      let arrival = try receiving.receive()
      guard case .packet(let packet) = consume arrival else { return expect(Bool(false), "nothing came") }
      expect(packet.bytes, is: [7])
    }
    let arrival = try receiving.receive()
    guard case .end = consume arrival else { return expect(Bool(false), "there is no end") }
  }

  private func send(_ bytes: [UInt8], passing descriptors: [CInt], through socket: CInt) throws {
    // The header is two words: its length; its level and type.
    var control: [UInt64] = [UInt64(16 + 4 * descriptors.count), UInt64(Self.rights) << 32 | UInt64(SOL_SOCKET)]
    control.append(UInt64(descriptors[0]) | UInt64(descriptors[1]) << 32)
    var bytes = bytes
    let count = bytes.withUnsafeMutableBytes { bytes in
      control.withUnsafeMutableBytes { control in
        var part = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
        return withUnsafeMutablePointer(to: &part) { part in
          var message = msghdr()
          message.msg_iov = part
          message.msg_iovlen = 1
          message.msg_control = control.baseAddress
          message.msg_controllen = control.count
          return sendmsg(socket, &message, 0)
        }
      }
    }
    try #require(count == bytes.count)
  }
}
