import Expectations
import Glibc
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

@Suite struct PairingTests {
  /// A valid code that is not the given one.
  private func another(_ code: PairingCode) -> PairingCode {
    let other = PairingCode(number: 1_111_111)
    return other == code ? PairingCode(number: 2_222_222) : other
  }

  @Test func `a wrong code is told in the words for people, and the right one still works`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    source.write("file", patternData(100))
    let receiver = try RunningReceiver(destination)
    let code = try receiver.events.code()
    let failure = #expect(throws: Failure.self) {
      try send([source.at("file")], to: try receiver.port(), code: another(code))
    }
    expect(failure?.kind, is: .pairing)
    expect(failure?.message, is: "The code did not match. Nothing was sent.")
    expect(
      failure?.hint,
      is:
        "Check the code shown on the other device. If this keeps happening, another device on this network may be interfering."
    )
    let told = try receiver.events.first { event in
      if case .wrongCode(let attempt, let allowed, let from, let left) = event {
        "\(attempt) of \(allowed) from \(from), \(left) left"
      } else {
        nil
      }
    }
    expect(told, is: "1 of 3 from 127.0.0.1, 98 left")
    expect(destination.names().isEmpty)
    try sendOnceFree([source.at("file")], to: try receiver.port(), code: code)
    _ = try receiver.result()
    expect(destination.names(), is: ["file"])
  }

  /// Sends from the address whose guess was wrong a moment ago, which has to wait.
  private func sendOnceFree(_ paths: [[UInt8]], to port: UInt16, code: PairingCode) throws {
    let deadline = soon()
    while true {
      do {
        _ = try send(paths, to: port, code: code)
        return
      } catch let error as Failure where error.kind == .busy && BootInstant.now() < deadline {
        sched_yield()
      }
    }
  }

  @Test func `after three wrong tries the old right code is refused and another is shown`() throws {
    let receiver = try RunningReceiver(try Scratch())
    let port = try receiver.port()
    let code = try receiver.events.code()
    for host in 2...4 {
      var client = try StrangeClient(port: port, from: "127.0.0.\(host)")
      expect(try client.guess(), is: .codeMismatch)
    }
    let next = try receiver.events.code(2)
    expect(next != code)
    var late = try PairingExchange(port, code, from: "127.0.0.5")
    expect(try late.prove(), is: .codeMismatch)
    var honest = try PairingExchange(port, next, from: "127.0.0.6")
    expect(try honest.prove() == nil)
    receiver.stop()
  }

  @Test func `two exchanges of one code cannot both win`() throws {
    let receiver = try RunningReceiver(try Scratch())
    let port = try receiver.port()
    let code = try receiver.events.code()
    var first = try StrangeClient(port: port)
    var second = try StrangeClient(port: port)
    let one = try first.exchangeShares(code)
    let other = try second.exchangeShares(code)
    expect(try first.confirm(one.confirmA) == nil)
    expect(try second.confirm(other.confirmA), is: .codeExpired)
    receiver.stop()
  }

  @Test func `abandoning before the confirmation costs no try`() throws {
    let receiver = try RunningReceiver(try Scratch())
    let port = try receiver.port()
    let code = try receiver.events.code()
    for _ in 0..<5 {
      var client = try StrangeClient(port: port)
      _ = try client.exchangeShares(code)
      client.connection.close(within: .milliseconds(100))
    }
    var client = try StrangeClient(port: port)
    let confirmations = try client.exchangeShares(code)
    expect(try client.confirm(confirmations.confirmA) == nil)
    expect(receiver.events.wrongCodes, is: 0)
    receiver.stop()
  }

  @Test func `the receiver proves the code too`() throws {
    let receiver = try RunningReceiver(try Scratch())
    var client = try StrangeClient(port: try receiver.port())
    let confirmations = try client.exchangeShares(try receiver.events.code())
    try client.connection.say(.confirmA(confirmations.confirmA), until: soon())
    guard case (.confirmB(let proof), _) = try client.connection.pairingFrame(until: soon()) else {
      Issue.record("the receiver confirms")
      return
    }
    expect(proof, is: confirmations.confirmB)
    receiver.stop()
  }

  @Test(
    arguments: [
      ([0x01, 0x00, 0x0B] + Array("QEER".utf8) + [3, 3, 1, 0, 0, 0, 0], AbortReason.malformed),
      ([0x01, 0x00, 0x0B] + Array("PEER".utf8) + [1, 1, 1, 0, 0, 0, 0], AbortReason.version),
      ([0x01, 0x00, 0x0B] + Array("PEER".utf8) + [4, 9, 1, 0, 0, 0, 0], AbortReason.version),
      ([0x01, 0x00, 0x0B] + Array("PEER".utf8) + [3, 3, 9, 0, 0, 0, 0], AbortReason.malformed),
      ([0x01, 0x00, 0x0B] + Array("PEER".utf8) + [3, 3, 1, 0, 0, 0, 1], AbortReason.malformed),
      ([0x01, 0x00, 0x0C] + Array("PEER".utf8) + [3, 3, 1, 0, 0, 0, 0, 0], AbortReason.malformed),
      ([0x07, 0x00, 0x00], AbortReason.malformed),
      ([0x01, 0x00, 0x0B] + Array("PEER".utf8) + [3, 3, 2, 0, 0, 0, 0], AbortReason.unknownPeer),
      ([0x01, 0x00, 0x0B] + Array("PEER".utf8) + [3, 3, 3, 0, 0, 0, 0], AbortReason.unknownPeer),
    ] as [([UInt8], AbortReason)])
  func `a hello that is not right is refused with its reason`(bytes: [UInt8], reason: AbortReason) throws {
    let receiver = try RunningReceiver(try Scratch())
    _ = try receiver.events.code()
    var client = try StrangeClient(port: try receiver.port())
    try client.say(bytes)
    expect(try client.refusal(), is: reason)
    receiver.stop()
  }

  @Test(arguments: [(1, 1), (2, 2), (4, 9)] as [(UInt8, UInt8)])
  func `a client of other versions gets those of the receiver`(lowest: UInt8, highest: UInt8) throws {
    let receiver = try RunningReceiver(try Scratch())
    _ = try receiver.events.code()
    var client = try StrangeClient(port: try receiver.port())
    try client.say([0x01, 0x00, 0x0B] + Array("PEER".utf8) + [lowest, highest, 1, 0, 0, 0, 0])
    expect(try client.connection.readExactly(6, until: soon()), is: [0x0F, 0, 3, 5, 3, 3])
    receiver.stop()
  }

  @Test func `a share that is no point is refused and costs no try`() throws {
    let receiver = try RunningReceiver(try Scratch())
    _ = try receiver.events.code()
    for prefix in [0x04, 0x02, 0x00] as [UInt8] {
      var client = try StrangeClient(port: try receiver.port())
      try client.connection.say(
        .clientHello(versions: PairingFrame.version...PairingFrame.version, mode: .pair), until: soon())
      try client.connection.say(.pairA([prefix] + [UInt8](repeating: 7, count: 64)), until: soon())
      expect(try client.refusal(), is: .malformed)
    }
    expect(receiver.events.wrongCodes, is: 0)
    receiver.stop()
  }

  @Test func `a newcomer finds a paired receiver busy`() throws {
    let receiver = try RunningReceiver(try Scratch())
    let code = try receiver.events.code()
    var paired = try StrangeClient(port: try receiver.port()).pair(code)
    paired.control.say(StrangeSender.greeting)
    _ = try paired.next { if case .greeting = $0 { true } else { nil } }
    var client = try StrangeClient(port: try receiver.port())
    try client.connection.say(
      .clientHello(versions: PairingFrame.version...PairingFrame.version, mode: .pair), until: soon())
    expect(try client.refusal(), is: .busy)
    receiver.stop()
  }
}
