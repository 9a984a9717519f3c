/// How many items a session may still name one by one, and in how many bytes (Protocol §11). Both ends count alike.
struct NamingBudget: Equatable, Sendable {
  private var count = 0
  private var bytes = 0

  /// Counts an item whose name and words have so many bytes; false, and nothing is counted, if it does not fit any more.
  mutating func take(_ size: Int) -> Bool {
    guard count < Limits.unsent, size <= Limits.unsentBytes - bytes else { return false }
    count += 1
    bytes += size
    return true
  }
}
