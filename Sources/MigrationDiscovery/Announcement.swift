package import MigrationSystem

/// Announces a service on every network of this device, until it is withdrawn or deallocated.
///
/// It handles networks that come and go, and the lack of any network; its owner need not.
package final class Announcement: Sendable {
  /// The news of the announcement.
  package enum News: Equatable, Sendable {
    /// The name is established: no other device on the networks has it. Repeated when the name had
    /// to be changed.
    case established(name: String)
  }

  /// How long the goodbye may take: it is sent immediately, unless the machine is very busy.
  private static let patience: Duration = .milliseconds(500)

  private let thread: LinkThread

  /// Starts announcing.
  ///
  /// The news comes on the announcement's own thread, which the receiver of the news must not
  /// block. Trouble is reported at most once, and announcing continues: a network may come, and a
  /// port may become free.
  package init(
    _ service: Service, reaching reach: Reach = .everywhere, news: @escaping @Sendable (News) -> Void = { _ in },
    trouble: @escaping @Sendable (FindingTrouble) -> Void = { _ in }
  ) throws(SystemError) {
    thread = try LinkThread(
      "announcement", Responder(service, random: try SystemRandom.number()), port: MulticastDNS.port, reaching: reach,
      tell: news,
      trouble: { $0.map(trouble) })
  }

  /// Starts to tell the networks that the service has ended, and returns immediately.
  package func withdraw() { thread.end() }

  /// Withdraws the service, and returns when the networks have been told; after half a second in
  /// any case.
  package func end() {
    thread.end()
    _ = thread.wait(until: .now() + Self.patience)
  }
}

extension SystemRandom {
  /// An unpredictable number.
  static func number() throws(SystemError) -> UInt64 {
    try bytes(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
}
