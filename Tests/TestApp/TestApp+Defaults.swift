import AppMigrationKit
import Glibc

extension TestApp {
  /// Sets a default of a suite, or of the app itself if the suite is "standard", and does not
  /// synchronize it.
  static func keep(_ words: [String]) {
    let defaults = words[1] == "standard" ? UserDefaults.standard : UserDefaults(suiteName: words[1])
    defaults?.set(words[3], forKey: words[2])
    guard words[0] == "keep and exit" else { return }
    // Sets a default at the end of the program, after all its other work.
    atexit { UserDefaults(suiteName: "at the end")?.set("said late", forKey: "late") }
    // Exits on another thread, while a third thread keeps setting a default.
    Thread.detachNewThread {
      for number in 0... { UserDefaults(suiteName: "busy")?.set(number, forKey: "number") }
    }
    Thread.detachNewThread { exit(0) }
    while true { sleep(1) }
  }

  /// Shows the tester's error in a program that is not a test.
  static func tester() {
    let said = DispatchSemaphore(value: 0)
    Task {
      do {
        _ = try await AppMigrationTester(platform: .linux)
        print("a tester")
      } catch {
        print(error.localizedDescription)
      }
      said.signal()
    }
    said.wait()
  }
}
