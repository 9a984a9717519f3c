import MigrationEngine
import MigrationSystem

/// A connection that was let in, and how its thread is told to give it up.
final class Guest: Sendable {
  let ticket: Admission.Ticket
  let wakeup: Wakeup
  private let mustGo = Flag()
  private let makesRoom = Flag()

  init(_ ticket: Admission.Ticket) throws(SystemError) {
    self.ticket = ticket
    wakeup = try Wakeup()
  }

  /// Whether its thread is to give it up.
  var isDismissed: Bool { mustGo.isSet }

  /// Whether it goes because somebody else needs its place, and not because everything ends.
  var isEvicted: Bool { makesRoom.isSet }

  func evict() {
    makesRoom.set()
    dismiss()
  }

  func dismiss() {
    mustGo.set()
    wakeup.signal()
  }
}
