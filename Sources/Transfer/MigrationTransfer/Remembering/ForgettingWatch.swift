import MigrationEngine
import MigrationSystem
import MigrationWire

/// Looks every second whether the user has forgotten a device, and with it a running transfer. No
/// signal tells a process that.
///
/// It has its own thread from the first record on, since the records may be on a disk that does not
/// respond. It keeps no record locked.
final class ForgettingWatch: Sendable {
  private struct Subject: Sendable {
    let transfer: TransferID
    weak var entry: LockedTransferRecord?
  }

  private struct State {
    var subjects: [Subject] = []
    var isRunning = false
    var isOver = false
  }

  private static let pause = Duration.seconds(1)

  private let tell: @Sendable (TransferID) -> Void
  private let changed: Wakeup
  private let state = Mutex(State())

  init(_ tell: @escaping @Sendable (TransferID) -> Void) throws(SystemError) {
    self.tell = tell
    changed = try Wakeup()
  }

  /// From now on, looks at these.
  func look(at entries: some Sequence<(TransferID, LockedTransferRecord)>) {
    let subjects = entries.map { Subject(transfer: $0.0, entry: $0.1) }
    let (starts, wakes) = state.withLock { state in
      let (hadNone, wasRunning) = (state.subjects.isEmpty, state.isRunning)
      state.subjects = subjects
      state.isRunning = wasRunning || !subjects.isEmpty
      return (state.isRunning && !wasRunning && !state.isOver, wasRunning && hadNone && !subjects.isEmpty)
    }
    if wakes { changed.signal() }
    // Without a thread, what is forgotten ends before its next part.
    if starts { _ = try? OwnerThread(name: "forgetting") { [self] in run() } }
  }

  /// Ends the thread.
  func end() {
    state.withLock { $0.isOver = true }
    changed.signal()
  }

  private func run() {
    guard var poller = try? Poller() else { return }
    var told: Set<TransferID> = []
    while true {
      let (subjects, isOver) = state.withLock { ($0.subjects, $0.isOver) }
      if isOver { return }
      for subject in subjects where subject.entry?.isForgotten == true && told.insert(subject.transfer).inserted {
        tell(subject.transfer)
      }
      var interests = [Poller.Interest(changed.raw, .readable)]
      _ = try? poller.wait(&interests, until: subjects.isEmpty ? nil : BootInstant.now() + Self.pause)
      changed.clear()
    }
  }
}
