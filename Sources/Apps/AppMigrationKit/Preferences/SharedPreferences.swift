internal import CAppMigrationKit
internal import MigrationHost
internal import MigrationSystem

/// The preferences of groups in tests. A process has one suite of each name, so configurations with
/// groups run one after the other.
enum SharedPreferences {
  /// The configuration that has its turn, with those inside of it.
  private struct Turn {
    var isTaken = false
    /// The groups of these configurations.
    var groups: Set<String> = []
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  /// Whether this task, or the task that started it, has the turn.
  @TaskLocal private static var hasTurn = false

  private static let turn = Mutex(Turn())
  private static let isOwnSaid = Mutex(false)

  /// Runs `body` while no other configuration uses these groups. Their suites are empty at its
  /// start.
  ///
  /// A configuration inside `body` shares the groups that both have, and empties only the others.
  static func holding<Result>(
    _ groups: some Collection<String>, _ body: () async throws -> Result
  ) async rethrows -> Result {
    guard !groups.isEmpty else { return try await body() }
    let isOuter = !hasTurn
    if isOuter { await waitForTurn() }
    defer { if isOuter { endTurn() } }
    let new = turn.withLock { turn in
      let new = Set(groups).subtracting(turn.groups)
      turn.groups.formUnion(new)
      return new
    }
    defer { turn.withLock { $0.groups.subtract(new) } }
    empty(new)
    return try await $hasTurn.withValue(true) { try await body() }
  }

  private static func waitForTurn() async {
    await withCheckedContinuation { next in
      let isFree = turn.withLock { turn in
        if turn.isTaken { turn.waiting.append(next) }
        defer { turn.isTaken = true }
        return !turn.isTaken
      }
      if isFree { next.resume() }
    }
  }

  /// Passes the turn on to the first one that waits.
  private static func endTurn() {
    let next = turn.withLock { turn in
      turn.isTaken = !turn.waiting.isEmpty
      return turn.waiting.isEmpty ? nil : turn.waiting.removeFirst()
    }
    next?.resume()
  }

  /// The number of exporters from which the defaults of a group are hidden.
  private static let hidden = Mutex<[String: Int]>([:])

  /// Runs an exporter while the suites of all groups that it does not list are empty, as on a
  /// device, where the groups' entitlements decide. It leaves alone the groups that another
  /// configuration has now, and waits for none.
  static func hiding<Result>(
    allBut listed: some Collection<String>, _ body: () async throws -> Result
  ) async rethrows -> Result {
    let others = hasTurn ? [] : turn.withLock { $0.groups }
    let groups = storedGroups().filter { !listed.contains($0) && !others.contains($0) }
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
