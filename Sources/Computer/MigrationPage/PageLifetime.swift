import MigrationSystem

/// How long the server of the page runs: as long as a page is shown or the program is needed, and a while
/// longer.
struct PageLifetime {
  /// The time for which the server stays without a page.
  private static let patience = Duration.seconds(10)

  /// The time at which the server ends if nothing else comes.
  private(set) var end: BootInstant

  /// The first page has as long as its ticket.
  init(now: BootInstant) { end = now + Gate.lifeOfTicket }

  /// A page may come as long as the new ticket works.
  mutating func noteTicket(now: BootInstant) { end = max(end, now + Gate.lifeOfTicket) }

  mutating func note(isShown: Bool, isNeeded: Bool, now: BootInstant) {
    // A page that came in time has used its ticket.
    if isShown { end = now + Self.patience } else if isNeeded { end = max(end, now + Self.patience) }
  }
}
