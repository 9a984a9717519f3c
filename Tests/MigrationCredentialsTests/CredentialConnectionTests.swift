import Glibc
import MigrationSystem
import TestSupport
import Testing

@testable import MigrationCredentials

/// A program and its broker. Each test has a separate process, since the way to the broker belongs
/// to the process.
struct CredentialConnectionTests {
  private static let request = CredentialRequest.copy(CredentialQuery(.genericPassword), limit: 9, returning: .all)

  /// The values that `peer app run` gives an app: the number and the inode of its socket.
  private static func offer(_ raw: CInt) throws {
    var status = stat()
    try #require(fstat(raw, &status) == 0)
    setenv("PEER_CREDENTIALS", "\(raw):\(status.st_ino)", 1)
  }

  /// Answers one request after the other until the socket ends.
  private static func serve(
    _ socket: consuming PacketSocket, _ answer: @escaping @Sendable ([UInt8]) -> [[UInt8]]
  ) throws {
    let raw = socket.release().release()
    _ = try OwnerThread(name: "broker") {
      let socket = PacketSocket(owning: Descriptor(owning: raw))
      while case .packet(var packet)? = try? socket.receive() {
        guard let descriptor = packet.descriptor.take() else { continue }
        let channel = Channel(PacketSocket(owning: descriptor))
        for message in answer(packet.bytes) { try? channel.send(message) }
      }
    }
  }

  @Test func `the broker answers each request on a separate socket, for many threads at once`() async {
    await #expect(processExitsWith: .success) {
      alarm(UInt32(patience))
      var pair = try PacketSocket.pair()
      let mine = pair.takeOne()
      try Self.offer(mine.raw)
      try Self.serve(pair.takeOther()) { bytes in
        guard case .account(let user)? = try? CredentialRequest(bytes) else { return [] }
        let item = CredentialItem(
          .key, [.label: .text(user)], data: [], created: Timestamp(seconds: 0), modified: Timestamp(seconds: 0))
        return [CredentialReply.item(item, group: user).encoded, CredentialReply.ended(.success).encoded]
      }
      await withTaskGroup(of: Bool.self) { group in
        for number in 0..<200 {
          group.addTask {
            let answer = CredentialConnection.current.ask(.account(user: "\(number)"))
            return answer.status == .success && answer.items.map(\.group) == ["\(number)"]
          }
        }
        for await isRight in group { try? #require(isRight) }
      }
    }
  }

  @Test func `the end of the broker ends a request`() async {
    await #expect(processExitsWith: .success) {
      alarm(UInt32(patience))
      var pair = try PacketSocket.pair()
      let mine = pair.takeOne()
      try Self.offer(mine.raw)
      do {
        let theirs = pair.takeOther()
        let asked = try OwnerThread(name: "app") {
          precondition(CredentialConnection.current.ask(Self.request).status == .io)
        }
        // The request has arrived, and gets no answer.
        guard case .packet = try theirs.receive() else { throw SystemError(reason: "none", operation: "ask") }
        _ = consume theirs
        asked.join()
      }
      try #require(CredentialConnection.current.ask(Self.request).status == .notAvailable)
    }
  }

  @Test func `a malformed answer is no answer`() async {
    await #expect(processExitsWith: .success) {
      alarm(UInt32(patience))
      var pair = try PacketSocket.pair()
      let mine = pair.takeOne()
      try Self.offer(mine.raw)
      try Self.serve(pair.takeOther()) { _ in [[9, 9]] }
      try #require(CredentialConnection.current.ask(Self.request).status == .io)
    }
  }

  @Test func `the program does not write to its socket's number when another file has it`() async {
    await #expect(processExitsWith: .success) {
      alarm(UInt32(patience))
      try #require(CredentialConnection.current.ask(Self.request).status == .notAvailable)
      var pair = try PacketSocket.pair()
      let mine = pair.takeOne()
      try Self.offer(mine.raw)
      // The program has closed the socket, and uses its number for its own pair.
      var other = try PacketSocket.pair()
      let replacement = other.takeOne()
      let reader = other.takeOther()
      try #require(dup2(replacement.raw, mine.raw) == mine.raw)
      try #require(CredentialConnection.current.ask(Self.request).status == .notAvailable)
      guard case .nothing = try reader.receive(waiting: false) else {
        throw SystemError(reason: "it was written to", operation: "keep quiet")
      }
      for text in ["", "3", "x:1", "-1:2", "2:1", "\(mine.raw):", "\(mine.raw):1x", "99999:1"] {
        setenv("PEER_CREDENTIALS", text, 1)
        try #require(CredentialConnection.current.ask(Self.request).status == .notAvailable)
      }
    }
  }

  @Test func `the program refuses a large request before it sends it`() async {
    await #expect(processExitsWith: .success) {
      alarm(UInt32(patience))
      var pair = try PacketSocket.pair()
      let mine = pair.takeOne()
      try Self.offer(mine.raw)
      let data = [UInt8](repeating: 0, count: PacketSocket.longestPacket)
      let request = CredentialRequest.add(.key, [:], data: data, group: nil, returning: [])
      try #require(CredentialConnection.current.ask(request).status == .dataTooLarge)
    }
  }
}
