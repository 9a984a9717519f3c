import MigrationSystem
import Testing

@testable import MigrationDiscovery

/// A silent responder that is announced on one link.
final class StandingResponder {
  static let service = Service(label: "laptop", port: 4242, instance: 0xabc)
  static let records = OwnRecords(service)
  static let addresses = [ip(192, 0, 2, 1)]

  var responder = Responder(service, random: 1)
  var now = 0.0

  /// Reaches 100 s, long after its announcements.
  init(links: [Link: [SocketAddress]] = [.v4: addresses]) {
    _ = responder.handle(.links(links), now: 0)
    _ = run(until: 100)
  }

  /// A packet as a responder sent it.
  struct Sent {
    let time: Double
    let packet: DNSPacket
    let link: Link
  }

  /// Lets time pass. Returns the sent packets.
  func run(until end: Double) -> [Sent] {
    var sent: [Sent] = []
    while let next = responder.nextMoment, next <= end {
      now = max(now, next)
      sent += packets(responder.handle(.timePassed, now: now))
    }
    now = end
    return sent
  }

  /// Receives a packet. Returns the packets that are sent immediately.
  func hear(_ packet: DNSPacket, on link: Link = .v4) -> [Sent] {
    packets(responder.handle(.packet(packet.encoded(), link, from: .other), now: now))
  }

  /// Receives a question. Returns all packets that are sent within two seconds.
  func ask(_ questions: DNSQuestion..., knowing answers: [DNSRecord] = []) -> [Sent] {
    var packet = DNSPacket.query
    packet.questions = questions
    packet.answers = answers
    let sent = hear(packet)
    return sent + run(until: now + 2)
  }

  func packets(_ actions: [Responder.Action]) -> [Sent] {
    actions.compactMap { action in
      guard case .send(let bytes, let link) = action else { return nil }
      guard let packet = try? DNSPacket(bytes) else {
        Issue.record("a packet cannot be read")
        return nil
      }
      return Sent(time: now, packet: packet, link: link)
    }
  }
}
