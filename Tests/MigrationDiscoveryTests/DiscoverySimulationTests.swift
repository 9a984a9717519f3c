import Expectations
import MigrationSystem
import TestSupport
import Testing

@testable import MigrationDiscovery

/// The product's responders and browsers in simulated networks, each from one seed. Each round is
/// another seed.
@Suite struct DiscoverySimulationTests {
  private static let seeds = 0..<UInt64(Rounds.count)

  @Test func `without loss every receiver is found within three seconds`() {
    for seed in Self.seeds {
      let network = SimulatedNetwork(seed: seed)
      network.doubled = 0.1
      let isFirst = seed % 2 == 0
      let browsers = isFirst ? [network.add(browses: true)] : []
      if isFirst { network.run(until: network.random.seconds(0...5)) }
      let receivers = ["laptop", "laptop", "desktop"].map { network.add($0) }
      if !isFirst { network.run(until: network.random.seconds(1...9)) }
      let browser = browsers.first ?? network.add(browses: true)
      let begin = max(network.now, 1)
      network.run(until: begin + 3)
      let expected = receivers.compactMap(\.service?.instance).sorted()
      expect(browser.found.compactMap(\.instance).sorted(), is: expected, "seed \(seed)")
      for one in browser.found {
        let receiver = receivers.first { $0.service?.instance == one.instance }
        // A name that only one device has needs no digits.
        let name = one.instance == receivers[2].service?.instance ? "desktop" : receiver?.names.first
        expect(one.label == name && one.addresses.first?.port == receiver?.service?.port, "seed \(seed)")
        expect(Set(one.addresses.map(\.bare)), is: Set(receiver?.interfaces[0].addresses ?? []), "seed \(seed)")
      }
      expect(network.packets < 150, "seed \(seed)")
    }
  }

  @Test func `with a loss of a fifth every receiver is found within twelve seconds`() {
    for seed in Self.seeds {
      let network = SimulatedNetwork(seed: seed)
      network.loss = 0.2
      let browser = network.add(browses: true)
      let receivers = ["laptop", "desktop", "rack"].map { network.add($0) }
      let isFound = network.run(until: 12) { browser.found.count == receivers.count }
      expect(isFound, "seed \(seed)")
    }
  }

  @Test func `devices of one name are told apart`() {
    for seed in Self.seeds {
      let network = SimulatedNetwork(seed: seed)
      let hosts = (0..<Int(seed % 5) + 2).map { _ in network.add("laptop") }
      let browser = network.add(browses: true)
      network.run(until: 10)
      expect(hosts.flatMap(\.names).sorted(), is: browser.found.map(\.label), "seed \(seed)")
      expect(network.packets < 40 * hosts.count, "seed \(seed)")
    }
  }

  @Test func `a goodbye removes a receiver within two seconds`() {
    for seed in Self.seeds {
      let network = SimulatedNetwork(seed: seed)
      let browser = network.add(browses: true, on: ["home", "office"])
      let receiver = network.add("laptop", on: ["home", "office"])
      let other = network.add("laptop")
      network.run(until: 6)
      expect(browser.found.count, is: 2, "seed \(seed)")
      network.withdraw(receiver)
      expect(receiver.isOver)
      network.run(until: 8)
      expect(browser.found.map(\.instance), is: [other.service?.instance], "seed \(seed)")
    }
  }

  @Test func `links come and go, and the results follow`() {
    for seed in Self.seeds {
      let network = SimulatedNetwork(seed: seed)
      let browser = network.add(browses: true, on: ["home", "office"])
      let receiver = network.add("laptop", on: [])
      expect(receiver.names.isEmpty)
      network.attach(receiver, to: "home")
      network.run(until: 3)
      expect(browser.found.first?.addresses.count, is: 2, "seed \(seed)")
      network.attach(receiver, to: "office")
      network.run(until: 6)
      expect(browser.found.first?.addresses.count, is: 4, "seed \(seed)")
      expect(Set(browser.found.first?.addresses.map(\.scope) ?? []), is: [0, 2, 3], "seed \(seed)")
      network.detach(browser, from: "home")
      network.run(until: 7)
      expect(browser.found.first?.addresses.count, is: 2, "seed \(seed)")
      network.detach(browser, from: "office")
      network.run(until: 8)
      expect(browser.found.isEmpty, "seed \(seed)")
      network.attach(browser, to: "office")
      network.run(until: 11)
      expect(browser.found.count, is: 1, "seed \(seed)")
    }
  }

  @Test func `a device with two interfaces in one network does not contend with itself`() {
    for seed in Self.seeds {
      let network = SimulatedNetwork(seed: seed)
      let receiver = network.add("laptop", on: ["home", "home"])
      let browser = network.add(browses: true)
      network.run(until: 20)
      expect(receiver.names.count, is: 1, "seed \(seed)")
      expect(browser.found.first?.addresses.count, is: 4, "seed \(seed)")
      expect(network.packets < 80, "seed \(seed): \(network.packets)")
    }
  }

  @Test func `a receiver with one family is found by a browser with both`() {
    for seed in Self.seeds {
      let network = SimulatedNetwork(seed: seed)
      let receiver = network.add("laptop", hasV4: seed % 2 == 0, hasV6: seed % 2 == 1)
      let browser = network.add(browses: true)
      network.run(until: 4)
      expect(browser.found.first?.addresses.map(\.bare), is: receiver.interfaces[0].addresses, "seed \(seed)")
    }
  }

  @Test func `a receiver that disappears without a goodbye is forgotten when its records expire`() {
    let network = SimulatedNetwork(seed: 1)
    let browser = network.add(browses: true)
    let receiver = network.add("laptop")
    network.run(until: 5)
    receiver.interfaces = []
    receiver.responder = nil
    network.run(until: 100)
    expect(browser.found.count, is: 1)
    network.run(until: 130)
    expect(browser.found.isEmpty)
    let asked = network.packets
    network.run(until: 5000)
    expect(network.packets - asked < 500)
    expect(browser.nextMoment <= 5060)
  }
}
