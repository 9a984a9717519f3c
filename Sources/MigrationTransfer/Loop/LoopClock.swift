import MigrationSystem

/// The clock of a loop, in seconds since the start of the machine, sleep included. Tests let it run
/// faster than the world.
struct LoopClock: Equatable, Sendable {
  /// How many of its seconds pass in one second.
  var speed = 1.0

  /// Seconds since the start of the machine, on this clock.
  var now: Double { seconds(.now()) }

  /// The seconds on this clock at an instant.
  func seconds(_ instant: BootInstant) -> Double { Double(instant.nanoseconds) / 1e9 * speed }

  /// When this clock shows so many seconds.
  func instant(_ seconds: Double) -> BootInstant {
    BootInstant(nanoseconds: Int64(seconds / speed * 1e9))
  }

  /// When so many seconds of this clock have passed since an instant.
  func instant(_ seconds: Double, after start: BootInstant) -> BootInstant {
    start.advanced(by: .seconds(seconds / speed))
  }
}
