import Expectations
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// A receiver that has no room: who is turned away hears so, and comes again.
@Suite struct BusyReceiverTests {
  private let source: Scratch

  init() throws {
    source = try Scratch()
    source.write("file", patternData(1 << 10))
  }

  private func notices(_ events: Events) -> [String] {
    events.all.compactMap { if case .notice(let text) = $0 { text } else { nil } }
  }

  @Test func `a sender that is cut, or told that the receiver is busy, before its code was judged comes again`() throws
  {
    let receiver = try StrangeReceiver()
    let sender = try RunningSender([source.at("file")], to: receiver.port, giveUpAfter: 60, code: receiver.code)
    // Cut within TLS, cut behind it, and told.
    try receiver.acceptAndCut()
    _ = try receiver.accept()
    var told = try receiver.accept()
    _ = try ServerPairing.hello(&told, until: soon())
    told.abort(.busy)
    var control = try receiver.pair()
    control.control.say(StrangeReceiver.greeting)
    _ = try control.next { if case .plan = $0 { true } else { nil } }
    expect(notices(sender.events), is: ["the other device is busy; trying again"])
    control.control.say(.close(Close(.refused, "enough")))
    control.control.close()
    expect(sender.failure()?.kind, is: .refused)
  }

  /// Every answer to a proof but the right one; nil is a connection that ends.
  private static let answers: [PairingFrame?] =
    [nil, .confirmB([UInt8](repeating: 1, count: 32)), .abort(.busy, .busy(wait: .later, place: 1)), .ready]
    + (1...7).compactMap { AbortReason(rawValue: $0).map { .abort(saying: $0) } }

  @Test(arguments: answers)
  func `a sender whose code was judged, or may have been, does not try it again`(answer: PairingFrame?) throws {
    let receiver = try StrangeReceiver()
    let sender = try RunningSender([source.at("file")], to: receiver.port, giveUpAfter: 60, code: receiver.code)
    var connection = try receiver.accept()
    try receiver.exchangeShares(&connection)
    _ = try connection.pairingFrame(until: soon())
    if let answer { connection.end(with: answer, within: .zero) } else { connection.close(within: .zero) }
    _ = consume connection
    let kind: Failure.Kind =
      switch answer {
      case .abort(.unknownPeer, _): .refused
      case .abort(.version, _): .failed
      default: .pairing
      }
    expect(sender.failure()?.kind, is: kind)
  }

  /// Whether nothing comes any more.
  private func isCut(_ connection: inout Connection) -> Bool {
    do throws(ConnectionError) {
      _ = try connection.pairingFrame(until: soon())
      return false
    } catch {
      return error.isCut
    }
  }

  @Test func `an ABORT gets no answer from the sender`() throws {
    let receiver = try StrangeReceiver()
    let sender = try RunningSender([source.at("file")], to: receiver.port, code: receiver.code)
    var connection = try receiver.accept()
    try receiver.exchangeShares(&connection)
    _ = try connection.pairingFrame(until: soon())
    try connection.say(.abort(.codeMismatch), until: soon())
    expect(isCut(&connection))
    expect(sender.failure()?.kind, is: .pairing)
  }

  @Test func `an ABORT gets no answer from the receiver`() throws {
    let receiver = try RunningReceiver(try Scratch())
    var client = try StrangeClient(port: try receiver.port())
    let proof = try client.exchangeShares(try receiver.events.code())
    _ = try client.confirm(proof.confirmA)
    try client.connection.say(.abort(.codeMismatch), until: soon())
    expect(isCut(&client.connection))
    receiver.stop()
  }

  @Test func `a code answers for three proofs in all runs, and then there is no connection any more`() throws {
    let (receiver, home) = (try StrangeReceiver(), try Scratch())
    let store = TransferStore(home: home.at("home"))
    for _ in 0..<PairingCode.tries {
      let sender = try RunningSender([source.at("file")], to: receiver.port, store: store, code: receiver.code)
      var connection = try receiver.accept()
      try receiver.exchangeShares(&connection)
      _ = try connection.pairingFrame(until: soon())
      _ = consume connection
      _ = sender.failure()
    }
    let late = try RunningSender([source.at("file")], to: receiver.port, store: store, code: receiver.code)
    expect(late.failure()?.message, is: "this code was tried three times from this device, and is used up")
    // It has looked whether a receiver is here, and said nothing.
    let other = try RunningSender([source.at("file")], to: receiver.port, store: store, code: PairingCode(number: 7))
    var connection = try receiver.accept()
    _ = try ServerPairing.hello(&connection, until: soon())
    connection.abort(.notPairing)
    expect(other.failure()?.kind, is: .pairing)
  }

  @Test func `a sender that does not want to wait is told at once that the receiver is busy`() throws {
    let receiver = try StrangeReceiver()
    let sender = try RunningSender([source.at("file")], to: receiver.port, code: receiver.code)
    var connection = try receiver.accept()
    _ = try ServerPairing.hello(&connection, until: soon())
    connection.abort(.busy)
    expect(sender.failure()?.kind, is: .busy)
  }

  @Test func `a connection that has to make room behind TLS learns that the receiver is busy`() throws {
    let receiver = try RunningReceiver(try Scratch())
    let (port, code) = (try receiver.port(), try receiver.events.code())
    let crowd = Crowd()
    for _ in 0..<Admission.forStrangers.inside { crowd.add(try StrangeClient(port: port)) }
    let sender = try StrangeClient(port: port).pair(code)
    // One of those that only stood there went for it.
    expect(try crowd.firstWord(), is: .busy)
    receiver.stop()
    _ = consume sender
  }

  @Test func `a sender that comes back is let in again though the receiver says at first that it is busy`() throws {
    let receiver = try StrangeReceiver()
    let sender = try RunningSender([source.at("file")], to: receiver.port, giveUpAfter: 60, code: receiver.code)
    var control = try receiver.pair()
    control.control.say(StrangeReceiver.greeting)
    _ = try control.next { if case .plan = $0 { true } else { nil } }
    control.control.say(StrangeReceiver.verdict())
    _ = try control.next { if case .offer = $0 { true } else { nil } }
    control.control.say(StrangeReceiver.accept)
    control.control.say(StrangeReceiver.nothingHeld)
    _ = try control.control.exchange(until: .now())
    let stream = try receiver.join()
    _ = consume stream
    _ = consume control
    var busy = try receiver.acceptReturning()
    busy.abort(.busy)
    var back = try receiver.acceptReturning()
    try ServerPairing.welcome(back: .resume, on: &back, until: soon())
    expect(sender.stop()?.kind, is: .interrupted)
  }
}

/// Connections that wait behind TLS.
private final class Crowd {
  private final class Member {
    var client: StrangeClient
    init(_ client: consuming StrangeClient) { self.client = client }
  }

  private var members: [Member] = []

  func add(_ client: consuming StrangeClient) { members.append(Member(client)) }

  /// The first message that any of them hears.
  func firstWord() throws -> AbortReason? {
    let deadline = soon()
    while .now() < deadline {
      for member in members {
        do throws(ConnectionError) {
          _ = try member.client.connection.pairingFrame(until: .now().advanced(by: .milliseconds(5)))
        } catch {
          if let reason = error.reason { return reason }
          if error.code != .timedOut { return nil }
        }
      }
    }
    throw TookTooLong("a word to one of the crowd")
  }
}
