import MigrationSystem

@testable import MigrationDiscovery

/// A device in a simulated network: the product's own responder and browser, and their reports.
final class SimulatedHost {
  /// An interface in a segment.
  struct Interface {
    let index: UInt32
    let segment: String
    let addresses: [SocketAddress]
    var families: [Bool] { Set(addresses.map(\.isV6)).sorted { !$0 && $1 } }
  }

  let number: Int
  let service: Service?
  var responder: Responder?
  var browser: Browser?
  var interfaces: [Interface] = []
  /// The announced names, as the responder reported them.
  private(set) var names: [String] = []
  private(set) var found: [NearbyDevice] = []
  private(set) var isOver = false

  init(_ number: Int, service: Service?, browses: Bool, seed: UInt64) {
    self.number = number
    self.service = service
    responder = service.map { Responder($0, random: seed) }
    browser = browses ? Browser(random: seed ^ 0xffff) : nil
  }

  var links: [Link: [SocketAddress]] {
    var links: [Link: [SocketAddress]] = [:]
    for interface in interfaces {
      for isV6 in interface.families { links[Link(interface: interface.index, isV6: isV6)] = interface.addresses }
    }
    return links
  }

  func segment(_ link: Link) -> String? { interfaces.first { $0.index == link.interface }?.segment }

  func address(_ link: Link) -> SocketAddress? {
    interfaces.first { $0.index == link.interface }?.addresses.first { $0.isV6 == link.isV6 }
  }

  var nextMoment: Double { min(responder?.nextMoment ?? .infinity, browser?.nextMoment ?? .infinity) }

  /// A packet of this host.
  struct Sent {
    let bytes: [UInt8]
    let link: Link
  }

  func linksChanged(now: Double) -> [Sent] {
    perform(responder?.handle(.links(links), now: now)) + perform(browser?.handle(.links(links), now: now))
  }

  func receive(_ bytes: [UInt8], _ link: Link, from source: SocketAddress, now: Double) -> [Sent] {
    perform(responder?.handle(.packet(bytes, link, from: source), now: now))
      + perform(browser?.handle(.packet(bytes, link, from: source), now: now))
  }

  func timePassed(now: Double) -> [Sent] {
    var sent: [Sent] = []
    if let next = responder?.nextMoment, next <= now { sent += perform(responder?.handle(.timePassed, now: now)) }
    if let next = browser?.nextMoment, next <= now { sent += perform(browser?.handle(.timePassed, now: now)) }
    return sent
  }

  func withdraw(now: Double) -> [Sent] { perform(responder?.handle(.stop, now: now)) }

  private func perform(_ actions: [Responder.Action]?) -> [Sent] {
    var sent: [Sent] = []
    for action in actions ?? [] {
      switch action {
      case .send(let bytes, let link): sent.append(Sent(bytes: bytes, link: link))
      case .tell(let name): names.append(name)
      case .over: isOver = true
      }
    }
    return sent
  }

  private func perform(_ actions: [Browser.Action]?) -> [Sent] {
    var sent: [Sent] = []
    for action in actions ?? [] {
      switch action {
      case .send(let bytes, let link): sent.append(Sent(bytes: bytes, link: link))
      case .tell(let found): self.found = found
      case .over: break
      }
    }
    return sent
  }
}
