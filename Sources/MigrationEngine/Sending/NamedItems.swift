import MigrationWire

/// What is named as not stored since a ledger was told, as much as one session may name.
struct NamedItems: Sendable {
  private(set) var refusals: [Refusal] = []
  private var paths: Set<ArchivePath> = []
  private var budget = NamingBudget()

  init(_ refusals: [Refusal] = []) {
    for refusal in refusals { _ = add(refusal) }
  }

  /// Takes one, and says whether the user is to hear of it; `isAgain` leaves out what is here already.
  mutating func add(_ refusal: Refusal, isAgain: Bool = false) -> Bool {
    if isAgain, paths.contains(refusal.path) { return false }
    if budget.take(refusal.size) {
      refusals.append(refusal)
      paths.insert(refusal.path)
    }
    return true
  }
}
