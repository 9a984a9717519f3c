import Expectations
import MigrationSystem
import Testing

@testable import MigrationDiscovery

/// Segments on which packets are randomly lost, delayed and duplicated, and their hosts. It decides
/// nothing about discovery, and checks the rules for every packet. The same seed gives the same
/// run.
final class SimulatedNetwork {
  private(set) var now = 0.0
  private(set) var hosts: [SimulatedHost] = []
  /// How many packets were sent.
  private(set) var packets = 0
  /// The share of packets that a receiver misses, or gets twice.
  var loss = 0.0
  var doubled = 0.0
  var random: SeededRandom
  private var deliveries: [Delivery] = []
  private var lastSaid: [Said: Double] = [:]

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  private struct Delivery {
    let time: Double
    let host: SimulatedHost
    let link: Link
    let bytes: [UInt8]
    let source: SocketAddress
  }

  /// A record that a host multicast on a link.
  private struct Said: Hashable {
    let host: Int
    let link: Link
    let name: DNSName
    let data: DNSRecordData
  }

  // Hosts

  /// A host that announces under the label, or searches, or does both.
  func add(
    _ label: String? = nil, browses: Bool = false, on segments: [String] = ["home"], hasV4: Bool = true,
    hasV6: Bool = true
  ) -> SimulatedHost {
    let number = hosts.count + 1
    let service = label.map { Service(label: $0, port: UInt16(4000 + number), instance: random.next()) }
    let host = SimulatedHost(number, service: service, browses: browses, seed: random.next())
    hosts.append(host)
    for segment in segments { attach(host, to: segment, hasV4: hasV4, hasV6: hasV6) }
    return host
  }

  func attach(_ host: SimulatedHost, to segment: String, hasV4: Bool = true, hasV6: Bool = true) {
    let index = UInt32((host.interfaces.map(\.index).max() ?? 1) + 1)
    let number = UInt8(host.number)
    let v4 = hasV4 ? SocketAddress([192, 0, UInt8(index), number]) : nil
    let v6 = hasV6 ? SocketAddress([0xfe, 0x80] + [UInt8](repeating: 0, count: 12) + [UInt8(index), number]) : nil
    host.interfaces.append(.init(index: index, segment: segment, addresses: [v4, v6].compactMap { $0 }))
    send(host.linksChanged(now: now), from: host)
  }

  func detach(_ host: SimulatedHost, from segment: String) {
    host.interfaces.removeAll { $0.segment == segment }
    send(host.linksChanged(now: now), from: host)
  }

  /// The host ends in order.
  func withdraw(_ host: SimulatedHost) {
    send(host.withdraw(now: now), from: host)
  }

  /// All devices on a segment receive bytes from a device that is not a host.
  func inject(_ bytes: [UInt8], to segment: String = "home", isV6: Bool = false, from source: SocketAddress) {
    for host in hosts { deliver(bytes, to: host, segment, isV6: isV6, source: source) }
  }

  // Time

  /// Runs until a time, or until a condition holds. Returns whether it holds.
  @discardableResult
  func run(until end: Double, unless condition: () -> Bool = { false }) -> Bool {
    while !condition() {
      let next = min(deliveries.last?.time ?? .infinity, hosts.reduce(.infinity) { min($0, $1.nextMoment) })
      guard next <= end else {
        now = end
        return condition()
      }
      now = max(now, next)
      if let delivery = deliveries.last, delivery.time <= now {
        deliveries.removeLast()
        let host = delivery.host
        send(host.receive(delivery.bytes, delivery.link, from: delivery.source, now: now), from: host)
      } else {
        for host in hosts { send(host.timePassed(now: now), from: host) }
      }
    }
    return true
  }

  // Packets

  private func send(_ sent: [SimulatedHost.Sent], from host: SimulatedHost) {
    for one in sent {
      packets += 1
      guard let segment = host.segment(one.link), let address = host.address(one.link) else {
        Issue.record("a packet was sent on a missing link")
        continue
      }
      check(one, from: host)
      for other in hosts {
        deliver(one.bytes, to: other, segment, isV6: one.link.isV6, source: address, isOwn: other === host)
      }
    }
  }

  /// A host hears its own packets, too, and never loses them.
  private func deliver(
    _ bytes: [UInt8], to host: SimulatedHost, _ segment: String, isV6: Bool, source: SocketAddress, isOwn: Bool = false
  ) {
    for interface in host.interfaces where interface.segment == segment && interface.families.contains(isV6) {
      let link = Link(interface: interface.index, isV6: isV6)
      let copies = isOwn ? 1 : (chance(loss) ? 0 : 1) + (chance(doubled) ? 1 : 0)
      for _ in 0..<copies {
        let time = now + random.seconds(0.0001...0.01)
        let place = deliveries.firstIndex { $0.time <= time } ?? deliveries.endIndex
        deliveries.insert(Delivery(time: time, host: host, link: link, bytes: bytes, source: source), at: place)
      }
    }
  }

  private func chance(_ share: Double) -> Bool { share > 0 && random.seconds(0...1) < share }

  /// Checks the rules for every packet: it can be read, fits into a frame, and repeats no record
  /// within a second.
  private func check(_ sent: SimulatedHost.Sent, from host: SimulatedHost) {
    guard let packet = try? DNSPacket(sent.bytes), sent.bytes.count <= 1400 else {
      Issue.record("a packet cannot be read, or is too long")
      return
    }
    guard packet.isResponse else { return }
    for record in packet.answers + packet.additionals where record.ttl > 0 {
      let said = Said(host: host.number, link: sent.link, name: record.name, data: record.data)
      let since = now - (lastSaid[said] ?? -.infinity)
      expect(since >= 1 - 1e-6, "\(record.type) was multicast again after \(since) s")
      lastSaid[said] = now
    }
  }
}
