import Expectations
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// Conversations before READY that end in the middle, or continue in the wrong order.
@Suite struct PrefixTests {
  @Test func `every beginning of a pairing that breaks off leaves the code as it was`() throws {
    let receiver = try RunningReceiver(try Scratch())
    let port = try receiver.port()
    let code = try receiver.events.code()
    let whole =
      PairingFrame.clientHello(versions: PairingFrame.version...PairingFrame.version, mode: .pair).bytes
      + PairingFrame.pairA([4] + [UInt8](repeating: 1, count: 64)).bytes
    for count in stride(from: 0, to: whole.count, by: 5) {
      var client = try StrangeClient(port: port)
      try client.say(Array(whole.prefix(count)))
      client.connection.close(within: .milliseconds(200))
    }
    var client = try StrangeClient(port: port)
    let confirmations = try client.exchangeShares(code)
    expect(try client.confirm(confirmations.confirmA) == nil)
    expect(receiver.events.wrongCodes, is: 0)
    receiver.stop()
  }

  @Test(arguments: [
    PairingFrame.ready, .serverHello(version: PairingFrame.version, mode: .pair),
    .pairB([UInt8](repeating: 4, count: 65)),
    .confirmA([UInt8](repeating: 4, count: 32)),
    .clientHello(versions: PairingFrame.version...PairingFrame.version, mode: .pair),
  ])
  func `another frame than PAIR_A behind the hello is malformed`(frame: PairingFrame) throws {
    let receiver = try RunningReceiver(try Scratch())
    _ = try receiver.events.code()
    var client = try StrangeClient(port: try receiver.port())
    try client.connection.say(
      .clientHello(versions: PairingFrame.version...PairingFrame.version, mode: .pair), frame, until: soon())
    expect(try client.refusal(), is: .malformed)
    expect(receiver.events.wrongCodes, is: 0)
    receiver.stop()
  }

  @Test(arguments: [PairingFrame.ready, .confirmB([UInt8](repeating: 4, count: 32))])
  func `another frame than CONF_A behind the shares is malformed and costs no try`(frame: PairingFrame) throws {
    let receiver = try RunningReceiver(try Scratch())
    var client = try StrangeClient(port: try receiver.port())
    _ = try client.exchangeShares(try receiver.events.code())
    try client.connection.say(frame, until: soon())
    expect(try client.refusal(), is: .malformed)
    expect(receiver.events.wrongCodes, is: 0)
    receiver.stop()
  }

  @Test func `a share that comes back to its sender is refused`() throws {
    let source = try Scratch()
    source.write("file", [])
    let receiver = try StrangeReceiver()
    let sender = try RunningSender([source.at("file")], to: receiver.port, code: receiver.code)
    var connection = try receiver.accept()
    _ = try ServerPairing.hello(&connection, until: soon())
    guard case (.pairA(let share), _) = try connection.pairingFrame(until: soon()) else {
      Issue.record("the share comes behind the hello")
      return
    }
    try connection.say(.serverHello(version: PairingFrame.version, mode: .pair), .pairB(share), until: soon())
    #expect(throws: ConnectionError(told: AbortReason.malformed, nil)) { try connection.pairingFrame(until: soon()) }
    expect(sender.failure()?.kind, is: .pairing)
  }

  @Test func `a receiver that does not know the code is refused in the words for people`() throws {
    let source = try Scratch()
    source.write("file", [])
    let receiver = try StrangeReceiver()
    // The receiver knows another code than the sender. Its confirmation cannot fit, even if it
    // accepts the sender's.
    let sender = try RunningSender([source.at("file")], to: receiver.port, code: PairingCode(number: 1))
    var connection = try receiver.accept()
    _ = try ServerPairing.hello(&connection, until: soon())
    _ = try connection.pairingFrame(until: soon())
    let binding = try connection.channelBinding()
    let exchange = try Spake2(
      role: .b, secret: try PairingSecret.scalar(fromDigits: PairingCode(number: 2).digits),
      idA: PairingBinding.identityA(client: connection.peerFingerprint!, channelBinding: binding),
      idB: PairingBinding.identityB(server: receiver.identity.fingerprint, channelBinding: binding), aad: [])
    try connection.say(.serverHello(version: PairingFrame.version, mode: .pair), .pairB(exchange.share), until: soon())
    _ = try connection.pairingFrame(until: soon())
    try connection.say(.confirmB([UInt8](repeating: 1, count: 32)), until: soon())
    #expect(throws: ConnectionError(told: AbortReason.codeMismatch, nil)) { try connection.pairingFrame(until: soon()) }
    let failure = sender.failure()
    expect(failure?.kind, is: .pairing)
    let words = "\(failure?.message ?? "") \(failure?.hint ?? "")"
    expect(
      words,
      is:
        "The code did not match. Nothing was sent. Check the code shown on the other device. If this keeps happening, another device on this network may be interfering."
    )
  }

  @Test func `a device that shows our own key is refused`() throws {
    let receiver = try StrangeReceiver()
    let context = try TLSContext(role: .client, identity: receiver.identity)
    let dialing = Dialing(context: context, pinned: nil) { false }
    let server = try RunningThread("server") { _ = try? receiver.accept() }
    #expect(throws: ConnectionError.self) {
      _ = try dialing.connect(to: [.loopback(port: receiver.port)], wakeup: try Wakeup())
    }
    try server.value()
  }
}
