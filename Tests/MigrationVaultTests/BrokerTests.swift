import Expectations
import Glibc
import MigrationCredentials
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationVault

/// A broker on a thread, and a program that talks to it.
private final class Talk: Sendable {
  static let principal = CredentialPrincipal(owner: CredentialOwner(app: "org.example.notes"))
  static let longPassword = [UInt8](repeating: 7, count: CredentialLimits.data)

  let storage = MemoryCredentials()
  let socket: SharedDescriptor
  let broker: RunningThread<Void>

  init() throws {
    var pair = try PacketSocket.pair()
    socket = SharedDescriptor(pair.takeOther().release())
    let end = SharedDescriptor(pair.takeOne().release())
    let storage = storage
    broker = try RunningThread("broker") {
      var broker = CredentialBroker(
        for: Self.principal, storage: storage, at: PacketSocket(owning: try end.descriptor.duplicate()))
      try end.descriptor.letGo()
      broker.serve()
    }
  }

  /// Sends a packet unchanged, with or without a descriptor.
  func send(_ bytes: [UInt8], passing descriptor: CInt? = nil) throws {
    let socket = PacketSocket(owning: try socket.descriptor.duplicate())
    expect(try socket.send(bytes, passing: descriptor))
  }

  /// Sends a request; returns the socket for its answer.
  func ask(_ bytes: [UInt8]) throws -> SharedDescriptor {
    var pair = try PacketSocket.pair()
    let passed = pair.takeOther()
    try send(bytes, passing: passed.raw)
    return SharedDescriptor(pair.takeOne().release())
  }

  /// The answer to a request.
  func answer(to bytes: [UInt8]) throws -> [CredentialReply] {
    var channel = Channel(PacketSocket(owning: try ask(bytes).descriptor.duplicate()))
    var replies: [CredentialReply] = []
    while true {
      let arrival = try channel.receive()
      guard case .packet(let message) = consume arrival else { return replies }
      replies.append(try CredentialReply(message.bytes))
    }
  }

  func add(_ account: String, data: [UInt8] = [1]) throws -> [CredentialReply] {
    try answer(
      to: CredentialRequest.add(
        .genericPassword, [.account: .text(account)], data: data, group: nil, returning: []
      ).encoded)
  }

  /// Whether the broker still answers correctly.
  func answersWell() throws -> Bool {
    let state = CredentialReply.account(.authorized)
    storage.record(.authorized, of: "someone", for: Self.principal.owner)
    return try answer(to: CredentialRequest.account(user: "someone").encoded) == [state]
  }
}

@Suite struct BrokerTests {
  @Test func `the broker answers a request by the request's socket, and then closes it`() throws {
    let talk = try Talk()
    expect(try talk.add("Robin"), is: [.ended(.success)])
    expect(try talk.add("Robin"), is: [.ended(.duplicateItem)])
    expect(try talk.answersWell())
  }

  @Test func `the broker ends with the last process that has its socket`() throws {
    let talk = try Talk()
    let other = SharedDescriptor(try talk.socket.descriptor.duplicate())
    try talk.socket.descriptor.letGo()
    expect(!talk.broker.hasEnded(by: .now() + .milliseconds(50)))
    try other.descriptor.letGo()
    expect(talk.broker.hasEnded())
  }

  @Test func `the broker refuses a malformed request, changes nothing, and continues`() throws {
    let talk = try Talk()
    let whole = CredentialRequest.add(
      .genericPassword, [.account: .text("Robin")], data: [1], group: nil, returning: []
    ).encoded
    for length in 1..<whole.count {
      expect(try talk.answer(to: Array(whole[..<length])), is: [.ended(.parameter)], "\(length) bytes")
    }
    // An owner would be a field of this kind.
    expect(try talk.answer(to: whole + [11, 1, 65]), is: [.ended(.parameter)])
    expect(try talk.answer(to: [99]), is: [.ended(.parameter)])
    expect(talk.storage.items(of: Talk.principal.owner).isEmpty)
    expect(try talk.answersWell())
  }

  @Test func `the broker ignores an empty packet, a long packet, and a packet without a way back`() throws {
    let talk = try Talk()
    let long = [UInt8](repeating: 1, count: PacketSocket.longestPacket + 1)
    let longCount = long.withUnsafeBytes { Glibc.send(talk.socket.raw, $0.baseAddress, $0.count, 0) }
    expect(longCount, is: long.count)
    expect(Glibc.send(talk.socket.raw, nil, 0, 0), is: 0)
    try talk.send(CredentialRequest.account(user: "someone").encoded)
    let file = try Descriptor.open("/dev/null", .readWrite)
    try talk.send(CredentialRequest.account(user: "someone").encoded, passing: file.raw)
    // The other end of the same socket: an answer to it returns as a packet without a way back.
    try talk.send(CredentialRequest.account(user: "someone").encoded, passing: talk.socket.raw)
    expect(try talk.answersWell())
  }

  @Test func `a thousand requests without a reader delay the next request only briefly`() throws {
    let talk = try Talk()
    // More than fits into the buffer of a socket.
    for number in 0..<20 {
      expect(try talk.add("\(number)", data: Talk.longPassword), is: [.ended(.success)])
    }
    let query = CredentialQuery(.genericPassword)
    let everything = CredentialRequest.copy(query, limit: .max, returning: [.attributes, .data]).encoded
    try CurrentProcess.raiseDescriptorLimit()
    let watch = try Stopwatch()
    var unanswered: [SharedDescriptor] = []
    for _ in 0..<1000 { unanswered.append(try talk.ask(everything)) }
    expect(try talk.answersWell())
    expect(watch.seconds < 60)
    // A reader then gets the whole answer again.
    unanswered.removeAll()
    expect(try talk.answer(to: everything).count, is: 21)
  }
}
