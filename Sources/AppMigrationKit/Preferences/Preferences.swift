internal import CAppMigrationKit
internal import MigrationSystem

/// The contents of `UserDefaults`. Foundation writes them to the disk only on request, and most
/// authors do not request it.
enum Preferences {
  /// Writes the changes of this process, in all suites.
  ///
  /// Foundation holds one cache of all domains. Synchronizing any suite writes all changed domains.
  /// It waits for threads that set a value at this moment, which takes little time.
  static func write() { UserDefaults.standard.synchronize() }

  /// Empties a suite if it belongs to the test and not to the user.
  static func empty(_ suite: String) {
    guard TestProcess.preferences != nil else { return }
    UserDefaults.standard.removePersistentDomain(forName: suite)
  }

  /// The contents of a suite.
  static func contents(of suite: String) -> [String: Any] {
    UserDefaults.standard.persistentDomain(forName: suite) ?? [:]
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
    Preferences.write()
  }
}
