internal import Synchronization

/// The preferences of groups in tests. A process has one suite of each name, so that tests that run at the same time share it.
enum SharedPreferences {
  private struct Use {
    /// How many configurations have a group now.
    var counts: [String: Int] = [:]
    var isSaid = false
  }

  private static let use = Mutex(Use())

  /// A configuration with these groups begins: their suites are emptied.
  static func begin(_ groups: some Sequence<String>) {
    for group in groups {
      use.withLock { $0.counts[group, default: 0] += 1 }
      tell(group)
      Preferences.empty(group)
    }
  }

  /// The configuration ends.
  static func end(_ groups: some Sequence<String>) {
    for group in groups {
      tell(group)
      use.withLock { $0.counts[group, default: 1] -= 1 }
    }
  }

  /// Says once where a suite has something that another test that goes on may have put there.
  private static func tell(_ group: String) {
    guard use.withLock({ $0.counts[group, default: 0] > 1 && !$0.isSaid }), !Preferences.contents(of: group).isEmpty,
      use.withLock({ use in
        defer { use.isSaid = true }
        return !use.isSaid
      })
    else { return }
    TesterNotice.say(
      "tests that run at the same time share the defaults of the group \(group), which are one suite in this process and "
        + "which each withConfiguration empties; those that use them belong into a suite that is .serialized")
  }
}
