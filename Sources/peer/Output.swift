import MigrationApps
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// The program's output during a transfer, on standard output and standard error.
///
/// Any thread may report events, and none ever waits for a slow terminal or a reader of a pipe, nor
/// for a disk: a separate thread makes texts of the events and writes them, one by one. That
/// thread starts with the first event, so that code that must precede all threads (signals, the
/// sandbox) can run first. A slow or stopped reader costs the queue's memory and, at the end, a short
/// time; then the program ends without the thread, whose last write may never return.
final class Output: Sendable {
  /// The longest time without an event before progress is shown again.
  private static let longestSilence = Duration.milliseconds(500)

  private let state: Condition<OutputState>
  private let target: OutputTarget
  private let start = BootInstant.now()
  /// Whether there may be many results; otherwise there is one, in its event or at the end.
  private let keeps: Bool
  /// The role of this device; nil where only a report is made.
  private let role: Role?

  /// Output for a person or for a program.
  convenience init(
    _ role: Role, json: Bool, app: String? = nil, isOfEverything: Bool = false, isVerbose: Bool = false,
    keeps: Bool = false, atOnce: Int = 1
  ) {
    let wanted = app.map { "--app \(VisibleText.of($0))" } ?? (isOfEverything ? "--everything" : "PATH...")
    let report: any Report =
      json
      ? JSONReport.ofRun(behind: .find())
      : HumanReport(
        role, on: atOnce > 1 ? .log : .standardError, wanting: wanted, isVerbose: isVerbose,
        command: CommandLineText.again(CurrentProcess.arguments), behind: .find())
    self.init(atOnce > 1 ? SeveralReports(report, areNamed: !json) : report, to: .standard, as: role, keeps: keeps)
  }

  /// Writes a report's texts about the events. Only one thread uses the target at a time.
  init(_ report: any Report, to target: OutputTarget, as role: Role? = nil, keeps: Bool = false) {
    self.keeps = keeps
    self.role = role
    self.target = target
    state = Condition(OutputState(report))
  }

  /// Keeps the list of items in a file. Called before the first event of a transfer.
  func list(in file: ItemList.File) { state.withLock { $0.listFile = file } }

  /// Lets a function name the user's next steps once the parts of a migration have arrived.
  func advise(by advise: @escaping @Sendable (PartEnds) -> [NextStep]) { state.withLock { $0.advise = advise } }

  /// Names the items that stay behind, at the end of a migration.
  func leaveOut(_ items: [Omission]) { state.withLock { $0.leftOut = items } }

  /// Records an event; returns at once.
  func handle(_ event: TransferEvent) {
    state.withLock { state in
      guard !state.hasEnded, state.note(event, as: role, keeps: keeps) else { return }
      startWriter(&state)
    }
    state.broadcast()
  }

  /// Runs `body` while nothing else is written, such as for a question to the user. Earlier events
  /// are written first, as far as a reader takes them; later events are written afterwards.
  func hold<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    state.withLock { $0.heldFrom = $0.queue.count }
    state.broadcast()
    defer {
      state.withLock { $0.heldFrom = nil }
      state.broadcast()
    }
    // A stopped reader does not delay a question to the user, nor the end.
    let isQuiet = state.wait(until: .now().advanced(by: OutputState.still)) { state -> Bool? in
      state.isQuiet || state.writer == nil ? true : state.isHurried ? false : nil
    }
    let clearing = isQuiet == true ? state.withLock { $0.report.clear() }.standardError : ""
    if !clearing.isEmpty { target.write(clearing, .error) {} }
    return try body()
  }

  /// Hurries because the user wants the program to end: a reader that takes nothing has less time.
  func hurry() {
    state.withLock { $0.isHurried = true }
    state.broadcast()
  }

  /// Writes the rest of the queue, and the result if no event had it. Returns the program's exit
  /// code.
  func finish(_ result: TransferResult) -> Int32 {
    end { $0.isDone ? nil : .done(result) }
    return state.withLock { ExitCode.of(result, unsent: $0.unsent, leavingOut: $0.lacking) }
  }

  /// Writes the rest of the queue, and the failure. Returns the program's exit code.
  func fail(_ failure: Failure) -> Int32 {
    end { .failed($0.isUnderWay ? failure.resumable : failure) }
    return ExitCode.of(failure)
  }

  // MARK: The end

  /// Ends with a last word.
  private func end(_ word: (OutputState) -> TransferEvent?) {
    let hasWriter = state.withLock { state in
      if let word = word(state) { state.queue.add(word) }
      (state.hasEnded, state.lastMove) = (true, .now())
      startWriter(&state)
      return state.writer != nil
    }
    state.broadcast()
    if hasWriter, waitForWriter() { return }
    // Without the thread, or beside it: what its stopped reader, or its disk, does not keep it from.
    let stuck = state.withLock { hasWriter && $0.stream == nil ? $0.telling : nil }
    if let stuck { say(stuck) }
    while let event = state.withLock({ $0.queue.take(before: nil) }) {
      if stuck != nil { say(event) } else if !hasWriter || event.isEnd { tell(event) }
    }
    let (texts, busy) = state.withLock { ($0.texts, $0.stream) }
    // A stopped reader costs an attempt for each text.
    let limit = BootInstant.now().advanced(by: OutputState.still)
    for text in texts where text.isWord && text.stream != busy || !hasWriter && BootInstant.now() < limit {
      target.attempt(text.text, text.stream)
    }
  }

  /// Waits until the thread has written all; false if its reader takes nothing, or its disk does not answer.
  private func waitForWriter() -> Bool {
    let begun = BootInstant.now()
    while true {
      let (move, patience) = state.withLock { ($0.lastMove, $0.patience) }
      let isOver = state.wait(until: move.advanced(by: patience)) { $0.isOver ? true : nil }
      if isOver == true {
        state.withLock { $0.writer }?.join()
        return true
      }
      let hasStopped = state.withLock { state in
        // Otherwise it does not wait for a reader.
        if state.stream == nil, BootInstant.now() < begun.advanced(by: state.patienceWithDisks) {
          state.lastMove = .now()
        }
        state.isAbandoned = state.lastMove == move
        return state.isAbandoned
      }
      if hasStopped { return false }
    }
  }

  // MARK: The thread

  private func startWriter(_ state: inout OutputState) {
    guard state.writer == nil else { return }
    // Without a thread, the queue is written at the end.
    state.writer = try? OwnerThread(name: "output") { [self] in write() }
  }

  /// Writes texts about the events, up to the last word.
  private func write() {
    while true {
      switch state.wait(until: .now().advanced(by: Self.longestSilence), { $0.next() }) {
      case .write(let text):
        target.write(text.text, text.stream) { state.withLock { $0.lastMove = .now() } }
      case .tell(let event): tell(event)
      case .missed(let count): state.withLock { $0.say($0.report.missed(count)) }
      case .end:
        state.withLock { $0.isOver = true }
        return state.broadcast()
      case nil:
        state.withLock { if $0.heldFrom == nil { $0.say($0.report.tick(at: moment())) } }
      }
      state.withLock { ($0.isBusy, $0.stream) = (false, nil) }
      state.broadcast()
    }
  }

  /// Makes a text of an event. The end of a transfer has the list of its items, and the next steps of its user:
  /// for these, disks are read and written.
  private func tell(_ event: TransferEvent) {
    if let ended = state.withLock({ $0.list(noting: event, at: moment().elapsed) }) {
      var list = ended
      let (file, advise, leftOut) = state.withLock { ($0.listFile, $0.advise, $0.lacking) }
      let advice = list.migration.arrived.isEmpty ? [] : advise?(list.migration) ?? []
      (list.migration.advice, list.migration.leftOut) = (advice.map(\.sentence), leftOut)
      let notice = file?.write(list)
      state.withLock { state in
        state.report.advise(advice, leavingOut: leftOut)
        if let notice { state.say(state.report.handle(.notice(notice), at: moment())) }
      }
    }
    say(event)
  }

  private func say(_ event: TransferEvent) {
    state.withLock { $0.say($0.report.handle(event, at: moment()), isWord: event.isEnd) }
  }

  private func moment() -> Moment {
    Moment(
      elapsed: BootInstant.now().seconds(since: start), wall: Timestamp.coarseNow().seconds,
      columns: Terminal.width(StandardStream.error.rawValue) ?? 80)
  }
}

extension TransferEvent {
  /// Whether it ends a transfer.
  var isEnd: Bool {
    switch plain {
    case .done, .failed: true
    default: false
    }
  }
}

/// The destination of the program's texts.
struct OutputTarget: Sendable {
  /// Writes a text, at any speed of its reader, and calls `took` after each piece.
  let write: @Sendable (_ text: String, StandardStream, _ took: () -> Void) -> Void
  /// Writes as much of a text as its reader soon takes.
  let attempt: @Sendable (_ text: String, StandardStream) -> Void

  /// The time limit of an attempt, in milliseconds.
  private static let soon: CInt = 100

  /// Descriptors with these numbers, as standard output and standard error.
  static func descriptors(output: CInt, error: CInt) -> OutputTarget {
    let raw = { @Sendable (stream: StandardStream) in stream == .output ? output : error }
    return OutputTarget(
      write: { text, stream, took in
        _ = StandardStream.write(text.utf8.span, to: raw(stream), took: took)
      },
      attempt: { text, stream in StandardStream.attempt(text.utf8.span, to: raw(stream), within: soon) })
  }

  /// The program's own standard output and standard error.
  static let standard = descriptors(output: StandardStream.output.rawValue, error: StandardStream.error.rawValue)
}
