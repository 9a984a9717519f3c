/// How many unsent items a session may still name one by one, and in how many bytes (Protocol §11). Both ends count alike.
struct UnsentBudget: Equatable, Sendable {
  private var count = 0
  private var bytes = 0

  /// Counts an item; false, and nothing is counted, if it does not fit any more.
  mutating func take(_ unsent: Unsent) -> Bool {
    guard count < Limits.unsent, unsent.size <= Limits.unsentBytes - bytes else { return false }
    count += 1
    bytes += unsent.size
    return true
  }
}
