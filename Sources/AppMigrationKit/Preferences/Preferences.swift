internal import CAppMigrationKit
internal import MigrationSystem

/// What `UserDefaults` keeps. Foundation writes it to the disk when it is told to, and authors mostly do not.
enum Preferences {
  /// Writes what was set in this process, in all suites.
  ///
  /// Foundation holds one cache of all domains, and whichever suite is synchronized, it writes those that have changed. It waits
  /// for threads that set something at this moment, each of which is through soon.
  static func write() { UserDefaults.standard.synchronize() }

  /// Empties a suite, where it is a test's own and not the user's.
  static func empty(_ suite: String) {
    guard TestProcess.preferences != nil else { return }
    UserDefaults.standard.removePersistentDomain(forName: suite)
  }

  /// What a suite has.
  static func contents(of suite: String) -> [String: Any] {
    UserDefaults.standard.persistentDomain(forName: suite) ?? [:]
  }
}

/// A test's process. Its preferences are in a directory of its own, and not among the developer's.
enum TestProcess {
  /// Whether this is one.
  static var isOne: Bool { appmigrationkit_is_test() != 0 }

  /// The directory that has its preferences; nil in a process that is none.
  static var preferences: String? { unsafe appmigrationkit_test_preferences().map { unsafe String(cString: $0) } }

  /// Removes its preferences.
  static func removePreferences() {
    guard let preferences else { return }
    let (parent, name) = FileContent.split(Array(preferences.utf8))
    // What cannot be removed is left to the system that cleans its temporary directory.
    try? Directory.open(parent).removeTree(ifThere: name)
  }
}

/// Called when a process ends in order: by a return from main, or by `exit`.
@_cdecl("appmigrationkit_process_ends")
func processEnds() {
  LoopThread.leave()
  if TestProcess.preferences != nil {
    TestProcess.removePreferences()
  } else {
    Preferences.write()
  }
}
