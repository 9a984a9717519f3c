import Glibc
import MigrationSystem

/// Moves the calling thread, and those that it starts, into a network without interfaces.
@_silgen_name("unshare") private func unshare(_ what: CInt) -> CInt

/// Whether tests can have networks of their own here.
package let canHaveOwnNetwork: Bool = {
  guard isRoot, access("/usr/sbin/ip", X_OK) == 0 || access("/sbin/ip", X_OK) == 0 else { return false }
  return (try? inOwnNetwork { true }) ?? false
}()

/// Runs `body` on a thread in a network of its own, which has only a loopback interface that is
/// down. Threads and processes that it starts are in this network too, and the network ends with
/// the last of them.
package func inOwnNetwork<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
  try RunningThread("own network") {
    let newNetwork: CInt = 0x4000_0000
    guard unshare(newNetwork) == 0 else { throw SystemError(errno: errno, operation: "leave the network") }
    return try body()
  }.value()
}

/// Changes the network of the calling thread, with the arguments of ip(8).
package func ip(_ words: String) throws {
  let arguments = ["ip"] + words.split(separator: " ").map(String.init)
  let code = try run(access("/usr/sbin/ip", X_OK) == 0 ? "/usr/sbin/ip" : "/sbin/ip", arguments).code
  guard code == 0 else { throw SystemError(reason: "exit code \(code)", operation: "change the network: ip \(words)") }
}

/// Two interfaces in the calling thread's network that are joined by a cable, each with an IPv4
/// address and a link-local one; returns when both can send packets.
package func joinTwoInterfaces() throws {
  let changes = try InterfaceChanges()
  try ip("link add one type veth peer name two")
  for (name, host) in [("one", 1), ("two", 2)] {
    try ip("link set \(name) addrgenmode none")
    try ip("addr add 192.0.2.\(host)/24 dev \(name)")
    try ip("addr add fe80::\(host)/64 dev \(name) nodad")
    try ip("link set \(name) up")
  }
  // The kernel notices a little later that the cable is plugged in, creates its routes, and then
  // reports it.
  let deadline = soon()
  var poller = try Poller()
  while try !["one", "two"].allSatisfy(carriesPackets) {
    let ready = try poller.wait(for: .readable, on: changes.raw, until: deadline)
    if ready.isEmpty { throw TookTooLong("interfaces that carry packets") }
    _ = changes.take()
  }
}

/// Whether an interface is running, with a route for groups of IPv6.
private func carriesPackets(_ name: String) throws -> Bool {
  guard let interface = try NetworkInterface.all().first(where: { $0.name == name }) else { return false }
  let bytes: [UInt8] = [0xFF, 0x02] + Array(repeating: 0, count: 13) + [0xFB]
  let group = SocketAddress(family: .v6, bytes: bytes, scope: interface.index, port: 9)
  return interface.flags.contains(.running) && (try? SocketAddress.ownAddress(towards: group)) != nil
}
