package import MigrationDiscovery
package import MigrationSystem

/// Announces a service on every network that this device is in, until it is withdrawn or this goes.
///
/// It lives through networks that come and go, and through there being none; the one who announces need not care.
package final class Announcement: Sendable {
  /// What becomes of it.
  package enum News: Equatable, Sendable {
    /// This name stands: no other device on the networks has it. Comes again when it had to be changed.
    case established(name: String)
  }

  /// How long the goodbye may take: it is sent at once, unless the machine is very busy.
  private static let patience: Duration = .milliseconds(500)

  private let thread: LinkThread

  /// Starts to announce.
  ///
  /// The news come on the announcement's own thread, which must not be made to wait. Of trouble it tells at most once, and
  /// goes on: a network may come, and a port become free.
  package init(
    _ service: Service, reaching reach: Reach = .everywhere, news: @escaping @Sendable (News) -> Void = { _ in },
    trouble: @escaping @Sendable (FindingTrouble) -> Void = { _ in }
  ) throws(SystemError) {
    thread = try LinkThread(
      "announcement", Responder(service, random: try SystemRandom.number()), port: MulticastDNS.port, reaching: reach,
      tell: news,
      trouble: { $0.map(trouble) })
  }

  /// Has the networks told that the service is gone, and returns at once.
  package func withdraw() { thread.end() }

  /// Withdraws it, and returns when the networks are told; half a second later in any case.
  package func end() {
    thread.end()
    _ = thread.wait(until: .now() + Self.patience)
  }
}

extension SystemRandom {
  /// An unforeseeable number.
  static func number() throws(SystemError) -> UInt64 {
    try bytes(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
}
