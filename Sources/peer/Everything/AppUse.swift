import MigrationEngine
import MigrationSystem
import MigrationWire

/// Waits until a person has closed an app, and tells the person of it.
struct AppUse: Sendable {
  /// Gets an app and the program that uses its data, while that is waited for; then the app and nil.
  private let tell: @Sendable (_ app: String, _ user: String?) -> Void

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

  /// Tells of an app and the program that uses its data, waits until there is none any more, and tells
  /// that; fails if it is to stop.
  func wait(
    for app: String, _ user: String, unless stop: StopSignal, _ now: () -> String?
  ) throws(SystemError) {
    tell(app, user)
    let wakeup = try Wakeup()
    let waking = stop.waking(wakeup)
    defer { withExtendedLifetime(waking) {} }
    var poller = try Poller()
    while now() != nil {
      if !(try poller.wait(for: .readable, on: wakeup.raw, until: .now() + Self.pause)).isEmpty {
        throw SystemError(reason: "stopped", operation: "wait")
      }
    }
    tell(app, nil)
  }

  /// The time between two looks.
  private static let pause = Duration.seconds(1)
}
