internal import Synchronization

/// The preferences of groups in tests. A process has one suite of each name, so that tests that run at the same time share it.
enum SharedPreferences {
  private struct Use {
    /// How many configurations have a group now.
    var counts: [String: Int] = [:]
    var isSaid = false
    var isOwnSaid = false
  }

  private static let use = Mutex(Use())

  /// A configuration with these groups begins: their suites are emptied.
  static func begin(_ groups: some Sequence<String>) {
    for group in groups {
      tellOfOwn(group)
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

  /// Empties the suites of a configuration that goes for the whole process.
  static func empty(_ groups: some Sequence<String>) {
    for group in groups {
      tellOfOwn(group)
      Preferences.empty(group)
    }
  }

  /// Says once that a test has the developer's own preferences, which are not emptied.
  private static func tellOfOwn(_ group: String) {
    guard TestProcess.isOne, TestProcess.preferences == nil,
      use.withLock({ use in
        defer { use.isOwnSaid = true }
        return !use.isOwnSaid
      })
    else { return }
    TesterNotice.say(
      "the defaults of the group \(group) and all others are your own in this process, and are not emptied: AppMigrationKit is in a "
        + "dynamic library, or the process was started with an empty environment")
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
