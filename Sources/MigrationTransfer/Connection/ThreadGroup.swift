import MigrationSystem

/// Threads that come and go, and that somebody waits for at the end.
///
/// Groups within a group share its curfew: once that is set, they are waited for no longer than until then. A thread may sit in
/// a call from which a disk does not return; the end of the program does not wait for that.
final class ThreadGroup: Sendable {
  /// What all groups of a family have in common.
  private struct Family {
    var running: [ObjectIdentifier: Int] = [:]
    var curfew: BootInstant?
  }

  private let family: Condition<Family>

  /// A family of its own.
  init() { family = Condition(Family()) }

  /// A group of the same family as another one, whose threads are counted apart.
  init(within other: ThreadGroup) { family = other.family }

  /// Runs `body` on a thread of its own.
  func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    family.withLock { $0.running[ObjectIdentifier(self), default: 0] += 1 }
    do {
      // Nobody joins it: it is counted instead, so that finished threads leave nothing behind.
      _ = try OwnerThread(name: name) { [self] in
        body()
        finish()
      }
    } catch {
      finish()
      throw error
    }
  }

  /// From `curfew` on, no group of the family is waited for any more. The earliest counts.
  func setCurfew(_ curfew: BootInstant) {
    family.withLock { family in family.curfew = family.curfew.map { min($0, curfew) } ?? curfew }
    family.broadcast()
  }

  /// Returns once all threads of this group have ended, or the family's curfew has come; whether they have ended.
  @discardableResult
  func wait() -> Bool {
    let id = ObjectIdentifier(self)
    var curfew: BootInstant?
    while true {
      let news = family.wait(until: curfew) { [curfew] family -> Waited? in
        if family.running[id] == nil { return .ended }
        return family.curfew == curfew ? nil : .curfew(family.curfew)
      }
      switch news {
      case .ended: return true
      case .curfew(let instant): curfew = instant
      case nil: return false
      }
    }
  }

  /// Returns once all threads of this group have ended, however long that takes.
  func waitWithoutCurfew() {
    let id = ObjectIdentifier(self)
    _ = family.wait { $0.running[id] == nil ? true : nil }
  }

  private enum Waited {
    case ended
    /// It is another one by now.
    case curfew(BootInstant?)
  }

  private func finish() {
    family.withLock { family in
      let id = ObjectIdentifier(self)
      family.running[id] = family.running[id].flatMap { $0 > 1 ? $0 - 1 : nil }
    }
    family.broadcast()
  }
}
