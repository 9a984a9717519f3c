import Expectations
import MigrationSystem
import TestSupport
import Testing

@testable import MigrationDiscovery

/// A handler that waits in its first packet for the test, requests the end in its second, and records
/// the later events.
private struct Impatient: LinkHandler {
  final class Shared: Sendable {
    struct State {
      var packets = 0
      var mayGoOn = false
      var thread: LinkThread?
      var packetsBehindEnd: Int?
    }

    let state = Condition(State())

    func change(_ body: (inout State) -> Void) {
      state.withLock { body(&$0) }
      state.broadcast()
    }
  }

  let shared: Shared
  var nextMoment: Double? { nil }

  mutating func handle(_ event: LinkEvent, now: Double) -> [LinkAction<Never>] {
    switch event {
    case .packet:
      shared.change { $0.packets += 1 }
      let (count, thread) = shared.state.withLock { ($0.packets, $0.thread) }
      // The loop's own lock: it waits for the test, which does not wait.
      while count == 1, !shared.state.withLock({ $0.mayGoOn }) {}
      if count == 2 { thread?.end() }
      return []
    case .stop:
      shared.change { $0.packetsBehindEnd = $0.packets - 2 }
      return [.over]
    case .links, .timePassed: return []
    }
  }
}

@Suite(.enabled(if: canHaveOwnNetwork)) struct LinkThreadTests {
  @Test func `the end does not wait for the packets that have arrived`() throws {
    try inOwnNetwork {
      try joinTwoInterfaces()
      for name in ["one", "two"] { try ip("-6 addr flush dev \(name)") }
      let two = try #require(NetworkInterface.all().first { $0.name == "two" })
      let group = MulticastDNS.groupV4
      let mouth = try MulticastSocket(group: group, interface: two.index)
      let shared = Impatient.Shared()
      let thread = try LinkThread(
        "impatient", Impatient(shared: shared), tell: { _ in }, trouble: { _ in })
      shared.change { $0.thread = thread }
      // Until the sockets exist.
      while shared.state.withLock({ $0.packets }) == 0 { try mouth.send([0]) }
      for _ in 0..<20 { try mouth.send([1]) }
      shared.change { $0.mayGoOn = true }
      let behind = try shared.state.wait(for: "the end", until: soon()) { $0.packetsBehindEnd }
      expect(behind, is: 0)
      expect(thread.wait(until: soon()))
      shared.change { $0.thread = nil }
    }
  }

  @Test func `links stay open if the interfaces cannot be listed, and those of an interrupted one are closed`() throws {
    try inOwnNetwork {
      try joinTwoInterfaces()
      let interfaces = try NetworkInterface.all()
      var links = OpenLinks(reaching: nil)
      links.update(interfaces)
      let all = Set(links.links.keys)
      expect(all.count == 4 && links.failure == nil)
      links.keep(SystemError(errno: 24, operation: "list the network interfaces"))
      expect(Set(links.links.keys) == all && links.failure != nil)
      let one = try #require(interfaces.first { $0.name == "one" })
      let (closed, again) = (links.close([one.index]), links.close([one.index]))
      expect(closed && !again && links.links.keys.allSatisfy { $0.interface != one.index } && links.links.count == 2)
      links.update(interfaces)
      expect(Set(links.links.keys), is: all)
    }
  }
}
