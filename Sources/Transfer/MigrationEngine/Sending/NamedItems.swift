import MigrationWire

/// The remaining messages of an export that has ended.
struct ExportEnd: Sendable {
  /// The marks of held items that the source no longer has.
  private(set) var stale: ArraySlice<Mark>
  let finish: Finish
  /// Whether the items that FINISH leaves out are recorded on the disk.
  var isNoted = false

  init(stale: ArraySlice<Mark>, finish: Finish) { (self.stale, self.finish) = (stale, finish) }

  /// Whether FINISH comes next.
  var isDue: Bool { isNoted && stale.isEmpty }

  /// The next marks, as many as a message has.
  mutating func takePage() -> [Mark] {
    defer { stale = stale.dropFirst(Limits.marksInFrame) }
    return Array(stale.prefix(Limits.marksInFrame))
  }
}

/// The items named as not stored since the ledger was read, as many as one session may name.
struct NamedItems: Sendable {
  private(set) var refusals: [NotStored] = []
  /// The items that the user was told about.
  private var paths: Set<[UInt8]> = []
  private var budget = NamingBudget()
  /// The marks of the items that the source no longer has, ascending.
  private var gone: [Mark] = []

  init(_ refusals: [NotStored] = []) {
    for refusal in refusals { _ = add(refusal) }
  }

  /// Adds a refusal, and returns whether to tell the user; `isAgain` ignores an item that is
  /// already named.
  mutating func add(_ refusal: NotStored, isAgain: Bool = false) -> Bool {
    if isAgain, paths.contains(refusal.path) { return false }
    if budget.take(refusal.size) {
      refusals.append(refusal)
      paths.insert(refusal.path)
    }
    return true
  }

  /// The source no longer has the items of these marks, which are ascending: the receiver forgets
  /// them, and so does this list.
  mutating func drop(_ marks: [Mark], _ keys: TransferKeys) {
    gone = marks
    guard !marks.isEmpty else { return }
    let kept = refusals.filter { !isGone($0.mark(keys)) }
    guard kept.count < refusals.count else { return }
    refusals = kept
    budget = NamingBudget()
    for refusal in kept { _ = budget.take(refusal.size) }
  }

  /// Whether the source no longer has the item of this mark.
  func isGone(_ mark: Mark?) -> Bool { mark.flatMap { gone.place(of: $0) } != nil }
}
