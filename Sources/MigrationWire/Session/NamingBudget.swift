/// How many items a session may still name one by one, and in how many bytes (Protocol §11). Both
/// ends count alike.
package struct NamingBudget: Equatable, Sendable {
  private var count = 0
  private var bytes = 0

  package init() {}

  /// Counts an item whose name and words have so many bytes; false, and nothing is counted, if it
  /// does not fit any more.
  package mutating func take(_ size: Int) -> Bool {
    guard count < Limits.unsent, size <= Limits.unsentBytes - bytes else { return false }
    count += 1
    bytes += size
    return true
  }
}

extension Sequence<Refusal> {
  /// As many of them as a session may name.
  package var nameable: [Refusal] {
    var budget = NamingBudget()
    return filter { budget.take($0.size) }
  }
}

extension Offer {
  /// Whether items may have been refused in an earlier session, which are named in front of a DONE
  /// that answers the offer.
  var mayHaveRefusals: Bool {
    guard transfer != nil, case .folders = contents else { return false }
    return true
  }
}
