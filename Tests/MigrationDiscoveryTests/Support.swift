import MigrationSystem
import TestSupport

@testable import MigrationDiscovery

/// The reports of a search so far.
final class Watched: Sendable {
  struct State {
    var lists: [[NearbyDevice]] = []
    var troubles: [FindingTrouble?] = []
  }

  let state = Condition(State())
  private let search: Search

  init() throws {
    let state = state
    search = try Search(
      news: { receivers in Self.note(state) { $0.lists.append(receivers) } },
      trouble: { trouble in Self.note(state) { $0.troubles.append(trouble) } })
  }

  private static func note(_ state: Condition<State>, _ change: (inout State) -> Void) {
    state.withLock { change(&$0) }
    state.broadcast()
  }

  /// Waits until the last list satisfies the condition, and returns it.
  @discardableResult
  func list(
    _ awaited: String, until deadline: BootInstant = soon(), _ isRight: ([NearbyDevice]) -> Bool
  ) throws -> [NearbyDevice] {
    try state.wait(for: awaited, until: deadline) { state in state.lists.last.flatMap { isRight($0) ? $0 : nil } }
  }

  /// Waits for a report of trouble.
  func trouble() throws -> FindingTrouble { try state.wait(for: "trouble") { $0.troubles.compactMap(\.self).first } }

  /// Waits for the report that the trouble has ended.
  func relief() throws {
    _ = try state.wait(for: "the end of the trouble") { $0.troubles.last == .some(nil) ? true : nil }
  }

  func stop() { search.stop() }
}

/// An announcement, and the wait for its name.
final class Announced: Sendable {
  let name = Condition<String?>(nil)
  let troubles = Condition<[FindingTrouble]>([])
  let announcement: Announcement

  init(_ label: String, port: UInt16 = 47470, instance: UInt64) throws {
    let (name, troubles) = (name, troubles)
    announcement = try Announcement(
      Service(label: label, port: port, instance: instance),
      announced: { announced in
        name.withLock { $0 = announced }
        name.broadcast()
      },
      trouble: { trouble in
        troubles.withLock { $0.append(trouble) }
        troubles.broadcast()
      })
  }

  /// The name, once it is announced.
  func announced() throws -> String { try name.wait(for: "the name") { $0 } }
}
