import MigrationSystem

@testable import MigrationTransfer

/// Holds up the threads of a receiver that two sessions share, until one is where the other one is
/// to meet it.
///
/// Chance decides where. An awaited thread may never come there, so every wait is short.
final class Meeting: Sendable {
  private struct Place: Hashable {
    let step: SlowImporter.Step
    let count: Int
  }

  /// The newer session's judging.
  private static let judging = [Place(step: .judge, count: 3), Place(step: .present, count: 2)]
  /// The import of the first concluded session.
  private static let importing = Place(step: .importItems, count: 1)

  private let state = Condition<Set<Place>>([])
  private let held: Place
  private let awaited: Place
  /// Whether FINISH of the older session comes only when the newer one's offer is being judged.
  let holdsFinish = Bool.random()

  init() {
    let judging = Self.judging.randomElement()!
    let holdsJudging = holdsFinish || Bool.random()
    (held, awaited) = holdsJudging ? (judging, Self.importing) : (Self.importing, judging)
  }

  /// Comes to a step of the importer, so often by now.
  func hold(_ step: SlowImporter.Step, _ count: Int) {
    let place = Place(step: step, count: count)
    state.withLock { _ = $0.insert(place) }
    state.broadcast()
    if place == held { wait(for: awaited, milliseconds: 30) }
  }

  /// The older session waits with its FINISH for the place where it is to meet the newer one, if it
  /// is to come there.
  func holdFinish() { if holdsFinish { wait(for: held, milliseconds: 500) } }

  private func wait(for place: Place, milliseconds: Int) {
    _ = state.wait(until: .now() + .milliseconds(milliseconds)) { $0.contains(place) ? true : nil }
  }
}
