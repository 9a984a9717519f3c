import Expectations
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// Offers that the receiver cannot take, and users who stop: both ends end alike, and nothing is
/// written.
@Suite struct RefusalTests {
  private static let root = Root(kind: .directory, name: Array("root".utf8))

  private func refusal(
    of offer: Offer, continuing transfer: TransferID? = nil, _ destination: Scratch
  ) throws -> (Close?, Failure?) {
    let receiver = try RunningReceiver(destination)
    var sender = try StrangeClient(port: try receiver.port()).pair(try receiver.events.code())
    sender.propose(offer, continuing: transfer)
    let close = try sender.reason()
    sender.control.close()
    return (close, receiver.failure())
  }

  @Test func `an offer that does not fit is refused with the figures`() throws {
    let destination = try Scratch()
    let (close, failure) = try refusal(of: StrangeSender.offer([Self.root], bytes: 1 << 60), destination)
    expect(close?.code, is: .noSpace)
    expect(close.map { ($0.bytes?.needed ?? 0) >= 1 << 60 }, is: true)
    expect(close.map { ($0.bytes?.available ?? .max) < 1 << 60 }, is: true)
    expect(failure?.kind, is: .noSpace)
    expect(destination.names(), is: [])
  }

  @Test func `an offer of a name that is taken is refused with the name`() throws {
    let destination = try Scratch()
    destination.write("root/kept", [])
    let (close, failure) = try refusal(of: StrangeSender.offer([Self.root]), destination)
    expect(close?.code, is: .exists)
    expect(close?.name, is: Self.root.name)
    expect(failure?.kind, is: .refused)
    expect(destination.names(), is: ["root"])
  }

  @Test func `a transfer that is not known here cannot be continued`() throws {
    let destination = try Scratch()
    let (close, failure) = try refusal(of: StrangeSender.offer([Self.root]), continuing: 7, destination)
    expect(close?.code, is: .unknownTransfer)
    expect(failure?.kind, is: .refused)
    expect(destination.names(), is: [])
  }

  @Test func `a receiver that is stopped in front of READY, and behind it, ends as its user said`() throws {
    for isPaired in [false, true] {
      let receiver = try RunningReceiver(try Scratch())
      let port = try receiver.port()
      let code = try receiver.events.code()
      let watch = try Stopwatch()
      if isPaired {
        var sender = try StrangeClient(port: port).pair(code)
        sender.control.say(StrangeSender.greeting)
        _ = try sender.next { if case .greeting = $0 { true } else { nil } }
        receiver.receiver.stop(.terminated)
        expect(try sender.closeCode(), is: .interrupted)
        sender.control.close()
        expect(receiver.failure()?.kind, is: .terminated)
      } else {
        var client = try StrangeClient(port: port)
        _ = try client.exchangeShares(code)
        receiver.receiver.stop(.terminated)
        expect(receiver.failure()?.kind, is: .terminated)
        #expect(throws: ConnectionError.self) { try client.connection.pairingFrame(until: soon()) }
      }
      expect(watch.seconds < 5)
    }
  }
}
