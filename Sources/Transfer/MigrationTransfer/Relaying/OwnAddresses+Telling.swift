import MigrationEngine
import MigrationSystem
import MigrationWire

extension OwnAddresses {
  /// This device's addresses for the other end of a connection from `local` to a relay, which sees
  /// it at `seen`; nil if the relay is on this device. It listens at `listening`, or at the port of
  /// that connection.
  init?(dialling local: SocketAddress, seen: InternetAddress, listening: SocketAddress? = nil) {
    guard !local.isLoopback else { return nil }
    var hosts = (try? SocketAddress.localAddresses(port: local.port)) ?? []
    if let listening, !listening.isUnspecified { hosts = [listening] }
    let own = (hosts.filter { $0.family == .v6 } + hosts.filter { $0.family == .v4 }).map {
      InternetAddress(address: $0.bytes, port: local.port)
    }
    let there =
      listening.map { listening in own.map { InternetAddress(address: $0.address, port: listening.port) } } ?? own
    self.init(
      Addresses(
        listening: there.filter(\.isDialable), dialling: ([seen] + (listening == nil ? [] : own)).filter(\.isDialable)),
      port: local.port)
  }
}
