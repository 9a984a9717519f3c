import MigrationWire

/// What is named as not stored since a ledger was told, as much as one session may name.
struct NamedItems: Sendable {
  private(set) var refusals: [Refusal] = []
  /// What the user has heard of.
  private var paths: Set<ArchivePath> = []
  private var budget = NamingBudget()
  /// The marks of what the source no longer has, ascending.
  private var gone: [Mark] = []

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

  /// The source no longer has what these marks name, which ascend: the receiver forgets it, and so does this.
  mutating func drop(_ marks: [Mark], _ keys: TransferKeys) {
    gone = marks
    guard !marks.isEmpty else { return }
    let kept = refusals.filter { !isGone(keys.mark(path: $0.path, generation: $0.generation)) }
    guard kept.count < refusals.count else { return }
    refusals = kept
    budget = NamingBudget()
    for refusal in kept { _ = budget.take(refusal.size) }
  }

  /// Whether the source no longer has what this mark names.
  func isGone(_ mark: Mark) -> Bool {
    var rest = gone[...]
    while !rest.isEmpty {
      let middle = rest.startIndex + rest.count / 2
      if gone[middle] == mark { return true }
      rest = gone[middle] < mark ? rest[(middle + 1)...] : rest[..<middle]
    }
    return false
  }
}
