import MigrationSystem
import Testing

@testable import MigrationDiscovery

/// A browser on two interfaces, its questions, and its results.
final class Browsing {
  static let links: [Link: [SocketAddress]] = [
    .v4: [ip(192, 0, 2, 1)], Link(interface: 3, isV6: false): [ip(198, 51, 100, 1)], .loopback: [ip(127, 0, 0, 1)],
  ]

  var browser = Browser(random: 1)
  var now = 100.0
  private(set) var asked: [(time: Double, packet: DNSPacket, link: Link)] = []
  private(set) var found: [NearbyDevice] = []
  /// The number of reports.
  private(set) var changes = 0

  init(links: [Link: [SocketAddress]] = links) { perform(browser.handle(.links(links), now: now)) }

  func run(until end: Double) {
    while let next = browser.nextMoment, next <= end {
      now = max(now, next)
      perform(browser.handle(.timePassed, now: now))
    }
    now = end
  }

  func hear(_ bytes: [UInt8], on link: Link = .v4, from source: SocketAddress = .other) {
    perform(browser.handle(.packet(bytes, link, from: source), now: now))
  }

  func hear(_ records: [DNSRecord], on link: Link = .v4, from source: SocketAddress = .other) {
    var packet = DNSPacket.response
    packet.answers = records
    hear(packet.encoded(), on: link, from: source)
  }

  /// Receives all records of a receiver.
  func hear(
    _ label: String, id: UInt64, _ addresses: [SocketAddress], on link: Link = .v4, ttl: UInt32? = nil,
    from source: SocketAddress = .other
  ) {
    let own = OwnRecords(Service(label: label, port: 4242, instance: id))
    hear(
      own.records(AnswerKind.all, addresses).map {
        DNSRecord($0.name, $0.data, ttl: ttl ?? $0.ttl, flushes: $0.flushes)
      }, on: link, from: source)
  }

  func change(_ links: [Link: [SocketAddress]]) { perform(browser.handle(.links(links), now: now)) }

  /// The questions of one name and type, with their times.
  func times(_ name: DNSName, _ type: DNSType) -> [Double] {
    asked.filter { $0.packet.questions.contains { $0.name == name && $0.type == type } }.map(\.time)
  }

  private func perform(_ actions: [Browser.Action]) {
    for action in actions {
      switch action {
      case .send(let bytes, let link):
        guard let packet = try? DNSPacket(bytes), !packet.isResponse, bytes.count <= 1400 else {
          Issue.record("a packet cannot be read, or is too long")
          continue
        }
        asked.append((now, packet, link))
      case .tell(let found):
        self.found = found
        changes += 1
      case .over: break
      }
    }
  }
}
