internal import Synchronization

/// The preferences of groups in tests. A process has one suite of each name, so configurations that
/// have a group in common run one after the other.
enum SharedPreferences {
  /// The groups that this task, or the task that started it, holds.
  @TaskLocal private static var held: Set<String> = []

  private static let turns = Mutex(GroupTurns<CheckedContinuation<Void, Never>>())
  private static let isOwnSaid = Mutex(false)

  /// Runs `body` while no other configuration uses these groups. Their suites are empty at its
  /// start.
  ///
  /// A configuration inside `body` shares the groups that both have, and empties only the others.
  static func holding<Result>(
    _ groups: some Sequence<String>, _ body: () async throws -> Result
  ) async rethrows -> Result {
    let new = Set(groups).subtracting(held)
    guard !new.isEmpty else { return try await body() }
    await withCheckedContinuation { turn in
      if turns.withLock({ $0.begin(new, else: turn) }) { turn.resume() }
    }
    defer {
      for turn in turns.withLock({ $0.end(new) }) { turn.resume() }
    }
    empty(new)
    return try await $held.withValue(held.union(new)) { try await body() }
  }

  /// Empties the suites of these groups.
  static func empty(_ groups: some Sequence<String>) {
    for group in groups {
      tellOfOwn(group)
      Preferences.empty(group)
    }
  }

  /// Reports once that a test uses the developer's own preferences, which are not emptied.
  private static func tellOfOwn(_ group: String) {
    guard TestProcess.isOne, TestProcess.preferences == nil,
      isOwnSaid.withLock({ isSaid in
        defer { isSaid = true }
        return !isSaid
      })
    else { return }
    TesterNotice.say(
      "in this process the defaults of the group \(group) and all others are your own, and are not emptied: AppMigrationKit is in a "
        + "dynamic library, or the process was started with an empty environment")
  }
}

/// The order in which users of groups take their turns: a user begins when no other user has one of
/// its groups and no earlier user waits for one of them.
struct GroupTurns<User> {
  private var groupsInUse: Set<String> = []
  private var waiting: [(groups: Set<String>, user: User)] = []

  /// Returns whether the groups are free, and takes them. If they are not, the user waits for them.
  mutating func begin(_ groups: Set<String>, else user: User) -> Bool {
    if waiting.allSatisfy({ $0.groups.isDisjoint(with: groups) }), groupsInUse.isDisjoint(with: groups) {
      groupsInUse.formUnion(groups)
      return true
    }
    waiting.append((groups, user))
    return false
  }

  /// Gives groups back, and returns the users whose turn begins.
  mutating func end(_ groups: Set<String>) -> [User] {
    groupsInUse.subtract(groups)
    var (begun, waitedFor, remaining) = ([User](), groupsInUse, [(groups: Set<String>, user: User)]())
    for entry in waiting {
      if waitedFor.isDisjoint(with: entry.groups) {
        begun.append(entry.user)
        groupsInUse.formUnion(entry.groups)
      } else {
        remaining.append(entry)
      }
      waitedFor.formUnion(entry.groups)
    }
    waiting = remaining
    return begun
  }
}
