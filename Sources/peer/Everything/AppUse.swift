import MigrationEngine
import MigrationSystem
import MigrationWire

/// Waits until a person has closed an app, and tells the person of it.
struct AppUse: Sendable {
  /// Gets an app and the program that uses its data, while that is waited for; then the app and nil.
  let tell: @Sendable (_ app: String, _ user: String?) -> Void

  /// Tells a program that asks by JSON, or a person by a note. `purpose` is what follows when it is closed.
  init(_ output: Output, asksProgram: Bool, _ purpose: String) {
    guard asksProgram else {
      tell = { app, user in
        guard let user else { return }
        output.handle(
          .notice("\(VisibleText.of(app)) is in use by \(VisibleText.of(user)): close it, and its data \(purpose)"))
      }
      return
    }
    let questioner = ProgramQuestioner(output: output, interruptions: [])
    tell = { questioner.tell("appInUse", ["app": $0, "user": $1]) }
  }

  init(telling tell: @escaping @Sendable (String, String?) -> Void) { self.tell = tell }

  /// Waits until no program is there any more; fails if it is to stop.
  static func wait(
    unless stop: StopSignal, pause: Double = 1, _ now: () -> String?
  ) throws(SystemError) {
    let wakeup = try Wakeup()
    let waking = stop.waking(wakeup)
    defer { withExtendedLifetime(waking) {} }
    var poller = try Poller()
    while now() != nil {
      let end = BootInstant(seconds: BootInstant.now().seconds + pause)
      if !(try poller.wait(for: .readable, on: wakeup.raw, until: end)).isEmpty {
        throw SystemError(reason: "stopped", operation: "wait")
      }
    }
  }
}
