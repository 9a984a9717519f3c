internal import CAppMigrationKit
internal import MigrationHost
internal import MigrationSystem

/// The preferences of groups in tests. A process has one suite of each name, so configurations that
/// have a group in common run one after the other.
enum SharedPreferences {
  /// The number of the configuration in which this task runs, or the task that started it.
  @TaskLocal static var owner: Int?

  private static let turns = Mutex(GroupTurns<CheckedContinuation<Void, Never>>())
  private static let isOwnSaid = Mutex(false)

  /// Runs `body` while no other configuration uses these groups. Their suites are empty at its
  /// start.
  ///
  /// A configuration inside `body` shares the groups that both have, and empties only the others.
  static func holding<Result>(
    _ groups: some Sequence<String>, _ body: () async throws -> Result
  ) async rethrows -> Result {
    let outer = owner
    let (number, new) = turns.withLock { turns in
      let number = outer ?? turns.newOwner()
      return (number, Set(groups).subtracting(turns.groups(of: number)))
    }
    guard !new.isEmpty else { return try await body() }
    await withCheckedContinuation { turn in
      switch turns.withLock({ $0.begin(new, for: number, else: turn) }) {
      case .now: turn.resume()
      case .later: break
      case .never:
        fatalError(
          "two tests wait for each other: name \(new.sorted().joined(separator: ", ")) in the outer withConfiguration")
      }
    }
    defer {
      for turn in turns.withLock({ $0.end(new) }) { turn.resume() }
    }
    empty(new)
    return try await $owner.withValue(number) { try await body() }
  }

  /// The number of exporters from which the defaults of a group are hidden.
  private static let hidden = Mutex<[String: Int]>([:])

  /// Runs an exporter while the suites of all groups that it does not list are empty, as on a
  /// device, where the groups' entitlements decide. It leaves alone the groups that another
  /// configuration has now, and waits for none.
  static func hiding<Result>(
    allBut listed: some Collection<String>, _ body: () async throws -> Result
  ) async rethrows -> Result {
    let owner = owner
    let groups = storedGroups().filter { group in
      !listed.contains(group) && turns.withLock { $0.owner(of: group) ?? owner } == owner
    }
    for group in groups { hide(group) }
    defer { for group in groups { show(group) } }
    return try await body()
  }

  /// The groups that have defaults in this test's process; Apple's names of groups begin alike.
  private static func storedGroups() -> [String] {
    guard let place = TestProcess.preferences else { return [] }
    UserDefaults.writeAll()
    let (beginning, end) = ("group.", ".plist")
    let names = (try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []
    return names.filter { $0.hasPrefix(beginning) && $0.hasSuffix(end) }.map { String($0.dropLast(end.count)) }
  }

  /// Moves the contents of a suite to another one.
  private static func hide(_ group: String) {
    hidden.withLock { hidden in
      hidden[group, default: 0] += 1
      move(group, to: store(of: group))
    }
  }

  /// Restores a suite for the last of its exporters; values that were set meanwhile stay.
  private static func show(_ group: String) {
    hidden.withLock { hidden in
      let users = (hidden[group] ?? 1) - 1
      hidden[group] = users > 0 ? users : nil
      guard users == 0 else { return }
      move(group, to: store(of: group))
      move(store(of: group), to: group)
    }
  }

  private static func move(_ suite: String, to other: String) {
    let defaults = UserDefaults.standard
    let newer = defaults.persistentDomain(forName: suite) ?? [:]
    let older = defaults.persistentDomain(forName: other) ?? [:]
    if !newer.isEmpty { defaults.setPersistentDomain(older.merging(newer) { $1 }, forName: other) }
    defaults.removePersistentDomain(forName: suite)
  }

  /// The suite for the hidden contents of a group's suite.
  private static func store(of group: String) -> String { "hidden.\(group)" }

  /// Empties the suites of these groups.
  static func empty(_ groups: some Sequence<String>) {
    for group in groups {
      tellOfOwn(group)
      // The suite belongs to the test then, and not to the user.
      guard TestProcess.preferences != nil else { continue }
      hidden.withLock { _ in
        for suite in [group, store(of: group)] { UserDefaults.standard.removePersistentDomain(forName: suite) }
      }
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
    AppMigrationTester.tellAuthor(
      "in this process the defaults of the group \(group) and all others are your own, and are not emptied: AppMigrationKit is in a "
        + "dynamic library, or the process was started with an empty environment")
  }
}

/// The order in which configurations use groups. A configuration begins when no other configuration
/// has one of its groups, and no earlier configuration waits for one of them. A configuration
/// inside another one does not wait behind such waiters, since they may wait for the outer one.
struct GroupTurns<User> {
  enum Beginning: Equatable {
    case now
    case later
    /// The configuration that has one of the groups waits, perhaps through others, for this one.
    case never
  }

  private struct Waiter {
    let owner: Int
    let groups: Set<String>
    let user: User
  }

  private var count = 0
  private var owners: [String: Int] = [:]
  private var waiting: [Waiter] = []

  /// A number for an outermost configuration.
  mutating func newOwner() -> Int {
    count += 1
    return count
  }

  /// The configuration that has a group now.
  func owner(of group: String) -> Int? { owners[group] }

  /// The groups that a configuration has now.
  func groups(of owner: Int) -> Set<String> { Set(owners.filter { $0.value == owner }.keys) }

  /// Takes the groups if they are free. If they are not, the user waits for them.
  mutating func begin(_ groups: Set<String>, for owner: Int, else user: User) -> Beginning {
    let waiter = Waiter(owner: owner, groups: groups, user: user)
    if isReady(waiter, behind: waiting[...]) {
      take(groups, owner)
      return .now
    }
    guard !self.groups(of: owner).isEmpty, isBlocked(groups, by: owner) else {
      waiting.append(waiter)
      return .later
    }
    return .never
  }

  /// Gives groups back, and returns the users whose turn begins.
  mutating func end(_ groups: Set<String>) -> [User] {
    for group in groups { owners[group] = nil }
    var begun: [User] = []
    var index = 0
    while index < waiting.count {
      if isReady(waiting[index], behind: waiting[..<index]) {
        let waiter = waiting.remove(at: index)
        take(waiter.groups, waiter.owner)
        begun.append(waiter.user)
      } else {
        index += 1
      }
    }
    return begun
  }

  private mutating func take(_ groups: Set<String>, _ owner: Int) {
    for group in groups { owners[group] = owner }
  }

  private func isReady(_ waiter: Waiter, behind earlier: ArraySlice<Waiter>) -> Bool {
    guard waiter.groups.allSatisfy({ owners[$0] == nil }) else { return false }
    let isInside = owners.values.contains(waiter.owner)
    return isInside || earlier.allSatisfy { $0.groups.isDisjoint(with: waiter.groups) }
  }

  /// Whether a configuration that has one of these groups waits for one of `owner`'s.
  private func isBlocked(_ groups: Set<String>, by owner: Int) -> Bool {
    var (seen, next) = (Set<Int>(), groups.compactMap { owners[$0] })
    while let other = next.popLast() {
      if other == owner { return true }
      guard seen.insert(other).inserted else { continue }
      for waiter in waiting where waiter.owner == other { next += waiter.groups.compactMap { owners[$0] } }
    }
    return false
  }
}

extension UserDefaults {
  /// Writes the changes of this process, in all suites. Foundation writes them to the disk only on
  /// request, and most authors do not request it.
  ///
  /// Foundation holds one cache of all domains. Synchronizing any suite writes all changed domains.
  /// It waits for threads that set a value at this moment, which takes little time.
  static func writeAll() {
    makeGroupDirectories()
    standard.synchronize()
  }

  /// Creates the missing directories for the suites of the app's groups. An importer that empties a
  /// group's container also removes its directory, and Foundation writes nothing without it.
  private static func makeGroupDirectories() {
    guard let groups = AppEnvironment.current()?.groups else { return }
    for path in groups.values {
      // During an export the container cannot be written, nor can the defaults in it.
      _ = try? Directory.open(path).makeDirectories("Library/Preferences")
    }
  }
}

/// The process of a test. Its preferences are in a separate directory, not among the developer's.
enum TestProcess {
  /// Whether this process is a test's.
  static var isOne: Bool { appmigrationkit_is_test() != 0 }

  /// The directory of its preferences; nil in other processes.
  static var preferences: String? { String(ofC: appmigrationkit_test_preferences()) }

  /// Removes its preferences.
  static func removePreferences() {
    guard let preferences else { return }
    let (parent, name) = FileContent.split(Array(preferences.utf8))
    // The system cleans its temporary directory later if this removal fails.
    try? Directory.open(parent).removeTree(ifThere: name)
  }
}

/// Called when a process ends normally: by a return from main, or by `exit`.
@_cdecl("appmigrationkit_process_ends")
func processEnds() {
  LoopThread.leave()
  if TestProcess.preferences != nil {
    TestProcess.removePreferences()
  } else {
    UserDefaults.writeAll()
  }
}
