import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

@Suite struct RelayTests {
  @Test func `a relay between both that forwards every byte is refused by both, with the right code on both ends`()
    throws
  {
    let (source, destination) = (try Scratch(), try Scratch())
    source.write("secret", patternData(1000))
    let receiver = try RunningReceiver(destination)
    let code = try receiver.events.code()
    let target = try receiver.port()
    let listening = try ListeningSocket(host: "127.0.0.1", port: 0)
    let port = listening.port
    let seen = Condition<[UInt8]>([])
    let relay = try Relay(listening, target: target) { bytes in seen.withLock { $0 += bytes } }
    let failure = #expect(throws: TransferFailure.self) { try send([source.at("secret")], to: port, code: code) }
    #expect(failure?.kind == .pairing)
    #expect(failure?.message == "The code did not match. Nothing was sent.")
    try relay.wait()
    _ = try receiver.events.first { if case .wrongCode = $0 { true } else { nil } }
    #expect(destination.names().isEmpty)
    // HELLO_C, PAIR_A and CONF_A went through: the relay did its work, and the devices noticed all
    // the same.
    #expect(seen.withLock { Array($0.prefix(7)) } == [0x01, 0x00, 0x0B] + Array("PEER".utf8))
    #expect(seen.withLock { $0.count } >= 14 + 68 + 35)
    receiver.stop()
  }
}

/// Terminates TLS on both sides with a key of its own, and forwards every byte of plaintext.
private final class Relay: Sendable {
  private let thread: RunningThread<Void>
  private let mustStop = Flag()

  init(
    _ listening: consuming ListeningSocket, target: UInt16, saw: @escaping @Sendable ([UInt8]) -> Void
  ) throws {
    let handedOver = Condition<ListeningSocket?>(listening)
    thread = try RunningThread("relay") { [mustStop] in
      guard let listening = handedOver.withLock({ $0.take() }) else { return }
      try? Self.run(listening, target, saw, mustStop)
    }
  }

  deinit {
    mustStop.set()
    if !thread.hasEnded() { Issue.record(TookTooLong("the end of a relay")) }
  }

  /// Waits for the end of its connection.
  func wait() throws { try thread.value() }

  private static func run(
    _ listening: borrowing ListeningSocket, _ target: UInt16, _ saw: ([UInt8]) -> Void, _ mustStop: Flag
  ) throws {
    let socket = try listening.acceptNextThatSpeaks()
    let identity = try Identity.generate()
    var inner = try Connection(socket, try TLSContext(role: .server, identity: identity), wakeup: try Wakeup())
    try inner.handshake(until: soon())
    var outer = try StrangeClient(port: target, identity: identity)
    var bytes = [UInt8](repeating: 0, count: 4096)
    let deadline = soon()
    while !mustStop.isSet, BootInstant.now() < deadline {
      if let count = try inner.read(into: &bytes, 0..<bytes.count) {
        if count == 0 { return }
        saw(Array(bytes[..<count]))
        try outer.say(Array(bytes[..<count]))
      }
      if let count = try outer.connection.read(into: &bytes, 0..<bytes.count) {
        if count == 0 { return inner.close() }
        try inner.writeAll(Array(bytes[..<count]), until: deadline)
      }
      _ = try inner.wait(until: BootInstant.now().advanced(by: .milliseconds(5)))
    }
  }
}
