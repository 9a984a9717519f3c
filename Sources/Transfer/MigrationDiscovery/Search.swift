package import MigrationSystem

/// Searches for receivers on every network of this device, until it is stopped or deallocated.
package final class Search: Sendable {
  private static let patience: Duration = .milliseconds(500)

  private let thread: LinkThread

  /// Starts searching. Each report contains all current receivers, by their labels.
  ///
  /// The reports come on the search's own thread, which must not be blocked. Trouble is reported at
  /// most once, and the search continues: a network may come, and a port may become free. Then nil
  /// is reported.
  package init(
    news: @escaping @Sendable ([NearbyDevice]) -> Void,
    trouble: @escaping @Sendable (FindingTrouble?) -> Void = { _ in }
  ) throws(SystemError) {
    thread = try LinkThread(
      "search", Browser(random: try SystemRandom.number()), tell: news, trouble: trouble)
  }

  /// Stops the search, and returns when no more reports can come; after half a second in any case.
  /// Do not call it on the search's own thread.
  package func stop() {
    thread.end()
    _ = thread.wait(until: .now() + Self.patience)
  }
}
