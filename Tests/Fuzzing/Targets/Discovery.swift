import FuzzDriver
import MigrationSystem

@testable import MigrationDiscovery

/// Every packet that can be read can be written, and reads as an equal packet.
func checkPacket(_ bytes: [UInt8]) {
  guard let packet = try? DNSPacket(bytes) else { return }
  let encoded = packet.encoded()
  guard let again = try? DNSPacket(encoded, longest: DNSPacket.longest) else {
    fatalError("a written packet cannot be read")
  }
  promise(again == packet, "a written packet reads as a different packet")
  promise(again.encoded() == encoded, "the packet is written differently the second time")
}

/// A responder and a browser whose events come from the input: raw packets, packets of records that
/// matter to them, time, links that come and go.
struct DiscoveryWalk {
  private typealias Link = MigrationDiscovery.Link

  private static let service = Service(label: "laptop", port: 4242, instance: 0xabc)

  static let starting = DiscoveryWalk(until: 0.1)
  static let standing = DiscoveryWalk(until: 10)

  private var input: ArraySlice<UInt8> = []
  private var now = 0.0
  private var hasWaited = false
  private var responder = Responder(service, random: 1)
  private var browser = Browser(random: 2)
  private let links = [
    Link(interface: 1, isV6: false), Link(interface: 2, isV6: false), Link(interface: 2, isV6: true),
    Link(interface: 3, isV6: true),
  ]

  private init(until end: Double) {
    setLinks(0x05)
    pass(end)
  }

  mutating func perform(_ bytes: [UInt8]) {
    input = bytes[...]
    receive(bytes, byte: 1)
    while let kind = input.popFirst() {
      switch kind % 16 {
      case 0: setLinks(next())
      case 1, 2: pass(Double(next()) / 100)
      // A minute or two, once and rarely: a cache looks through its records every 50 ms, so this
      // costs most.
      case 3 where !hasWaited && next() < 32:
        hasWaited = true
        pass(Double(next()) / 2)
      case 4, 5: receive(take(Int(next())), byte: next())
      default: receive(packet(), byte: next())
      }
    }
    pass(0.3)
    check(responder.handle(.stop, now: now))
    promise(responder.nextMoment == nil, "a responder that has ended waits")
  }

  // Input

  private mutating func next() -> UInt8 { input.popFirst() ?? 0 }

  private mutating func take(_ count: Int) -> [UInt8] {
    defer { input = input.dropFirst(count) }
    return Array(input.prefix(count))
  }

  /// A packet of records with names and contents that matter, or nearly.
  private mutating func packet() -> [UInt8] {
    let shape = next()
    var packet = shape & 1 == 0 ? DNSPacket.response : DNSPacket.query
    for _ in 0..<shape >> 2 & 3 {
      let type = DNSType(rawValue: UInt16([1, 12, 16, 28, 33, 47, 255, 2][Int(next() % 8)]))
      packet.questions.append(DNSQuestion(name(), type))
    }
    for _ in 0..<shape >> 4 & 3 { packet.answers.append(record()) }
    for _ in 0..<shape >> 7 & 1 { packet.additionals.append(record()) }
    // Some of them reach the parser with a wrong byte.
    var bytes = packet.encoded()
    let place = Int(next())
    if place < bytes.count { bytes[place] ^= next() }
    return bytes
  }

  private mutating func name() -> DNSName {
    switch next() % 8 {
    case 0: ServiceNames.type
    case 1, 2: responder.records.instance
    case 3: responder.records.host
    case 4: ServiceNames.host(UInt64(next()))
    case 5: DNSName(labels: [take(Int(next() % 80))]) ?? .root
    default: ServiceNames.instance([0x61, next()]) ?? .root
    }
  }

  private mutating func record() -> DNSRecord {
    let data: DNSRecordData
    switch next() % 8 {
    case 0, 1: data = .pointer(name())
    case 2: data = .service(ServiceLocation(port: UInt16(next()), target: name()))
    case 3: data = .text(take(Int(next())))
    case 4: data = .address(address(4))
    default: data = .address(address(16))
    }
    let time = next()
    let ttl: UInt32 = time & 0x3f < 0x30 ? 120 : time & 0x3f < 0x38 ? 0 : .max
    return DNSRecord(name(), data, ttl: ttl, flushes: time & 0x40 != 0)
  }

  private mutating func address(_ count: Int) -> SocketAddress {
    let bytes = take(count)
    let padded = bytes + [UInt8](repeating: 0, count: count - bytes.count)
    return SocketAddress(family: count == 4 ? .v4 : .v6, bytes: padded, port: 0)
  }

  // Events

  private mutating func setLinks(_ bits: UInt8) {
    var now: [Link: [SocketAddress]] = [:]
    for (index, link) in links.enumerated() where bits >> UInt8(index) & 1 == 1 {
      let last = link.interface == 1 ? 1 : UInt8(index) + bits >> 4
      now[link] = [SocketAddress(family: .v4, bytes: [link.interface == 1 ? 127 : 10, 0, 0, last], port: 0)]
    }
    check(responder.handle(.links(now), now: self.now))
    check(browser.handle(.links(now), now: self.now))
  }

  private mutating func receive(_ bytes: [UInt8], byte: UInt8) {
    let link = links[Int(byte) % links.count]
    let source = SocketAddress(family: .v4, bytes: [10, 0, 0, byte >> 3], port: 0)
    check(responder.handle(.packet(bytes, link, from: source), now: now))
    check(browser.handle(.packet(bytes, link, from: source), now: now))
  }

  /// Lets time pass. Each step comes later, or performs an action that must not be repeated.
  private mutating func pass(_ seconds: Double) {
    let end = now + seconds
    var steps = 0
    while let next = [responder.nextMoment, browser.nextMoment].compactMap({ $0 }).min(), next <= end {
      now = max(now, next)
      check(responder.handle(.timePassed, now: now))
      check(browser.handle(.timePassed, now: now))
      steps += 1
      // A sweep every 50 ms, and few packets on each link.
      promise(Double(steps) < 200 + 50 * seconds, "time does not pass")
    }
    now = end
  }

  // Bounds

  private func check(_ actions: [Responder.Action]) {
    promise(actions.count <= 20, "there are \(actions.count) actions")
    for action in actions { if case .send(let bytes, _) = action { check(sent: bytes) } }
    promise(responder.records.instance.wire.count <= DNSName.longest, "a name is too long")
  }

  private func check(_ actions: [Browser.Action]) {
    promise(actions.count <= 40, "there are \(actions.count) actions")
    for action in actions {
      switch action {
      case .send(let bytes, _): check(sent: bytes)
      case .tell(let found):
        promise(found.count <= links.count * InterfaceCache.mostInstances, "too many devices are found")
        for one in found {
          promise(
            !one.addresses.isEmpty && one.addresses.count <= links.count * CachedInstance.mostAddresses,
            "a device has \(one.addresses.count) addresses")
        }
      case .over: break
      }
    }
  }

  private func check(sent bytes: [UInt8]) {
    promise((try? DNSPacket(bytes)) != nil, "a sent packet cannot be read")
  }
}
