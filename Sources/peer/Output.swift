import MigrationApps
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer
import Synchronization

/// The program's output during a transfer, on standard output and standard error.
///
/// Any thread may report events, and none ever waits for a slow terminal or a reader of a pipe: a
/// separate thread makes texts of the events and writes them, one by one. That thread starts with
/// the first event, so that code that must precede all threads (signals, the sandbox) can run
/// first. A slow or stopped reader costs the queue's memory and, at the end, a short time; then the
/// program ends without the thread, whose last write may never return.
final class Output: Sendable {
  /// The longest time without an event before progress is shown again.
  private static let longestSilence = Duration.milliseconds(500)

  /// Writes a text to a stream.
  private typealias Put = (String, StandardStream) -> Void

  private let state = Condition(OutputState())
  private let report: any Report
  private let target: OutputTarget
  private let start = BootInstant.now()
  /// Whether there may be many results; otherwise there is one, in its event or at the end.
  private let keeps: Bool
  /// The role of this device; nil where only a report is made.
  private let role: Role?
  /// The time of the last write, in nanoseconds.
  private let lastMove = Atomic<Int64>(0)

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
    self.report = report
    self.target = target
  }

  /// Keeps the list of items in a file, and lets a function add what it knows to each event. Called
  /// before the first event of a transfer.
  func list(in file: ItemList.File, explaining explain: (@Sendable (TransferEvent) -> TransferEvent)? = nil) {
    state.withLock { ($0.listFile, $0.explain) = (file, explain) }
  }

  /// Lets a function name the user's next steps once the parts of a migration have arrived.
  func advise(by advise: @escaping @Sendable (MigrationRecord) -> [NextStep]) { state.withLock { $0.advise = advise } }

  /// Names the items that stay behind, at the end of a migration.
  func leaveOut(_ items: [Omission]) { state.withLock { $0.leftOut = items } }

  /// Records an event; returns at once.
  func handle(_ event: TransferEvent) {
    state.withLock { state in
      if state.ending != nil { return }
      state.add(event, as: role, keeps: keeps)
      startWriter(&state)
    }
    state.broadcast()
  }

  /// Runs `body` while nothing else is written, such as for a question to the user. Earlier events
  /// are written first, as far as a reader takes them; later events are written afterwards.
  func hold<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    state.withLock { $0.hold = $0.writer == nil ? .granted : .wanted($0.queue.count) }
    state.broadcast()
    defer {
      state.withLock { $0.hold = .none }
      state.broadcast()
    }
    // A stopped reader does not delay a question to the user, nor the end.
    _ = state.wait(until: .now().advanced(by: OutputState.still)) {
      if case .granted = $0.hold { true } else { $0.hurriedAt == nil ? nil : true }
    }
    return try body()
  }

  /// Hurries because the user wants the program to end: the end no longer waits for a reader that
  /// has much to read.
  func hurry() {
    state.withLock { $0.hurry(now: .now()) }
    state.broadcast()
  }

  /// Writes the rest of the queue, and the result if no event had it. Returns the program's exit
  /// code.
  func finish(_ result: TransferResult) -> Int32 {
    end(.success(result))
    return state.withLock { ExitCode.of(result, unsent: $0.unsent, leavingOut: $0.lacking) }
  }

  /// Writes the rest of the queue, and the failure. Returns the program's exit code.
  func fail(_ failure: Failure) -> Int32 {
    let isUnderWay = state.withLock { $0.isUnderWay }
    end(.failure(isUnderWay ? failure.resumable : failure))
    return ExitCode.of(failure)
  }

  // MARK: The end

  private func end(_ word: TransferOutcome) {
    let hasWriter = state.withLock { state in
      startWriter(&state)
      let patience = state.writer == nil ? OutputState.wholeInHurry : OutputState.whole
      let now = BootInstant.now()
      state.end(with: word, by: now.advanced(by: patience), notBefore: now.advanced(by: OutputState.shortest))
      return state.writer != nil
    }
    state.broadcast()
    if !hasWriter {
      write { target.attempt($0, $1) }
    } else if !waitForWriter() {
      sayBeside(word)
    }
  }

  /// Waits until the thread has written the last word; false if its readers prevent that.
  private func waitForWriter() -> Bool {
    if !state.withLock({ $0.isInHurriedWrite }) { noteMove() }
    while true {
      let deadline = state.withLock { $0.ending?.deadline ?? .now() }
      let end = deadline.advanced(by: OutputState.lastWord)
      let move = lastMove.load(ordering: .relaxed)
      let still = state.withLock { $0.endOfStandstill(since: BootInstant(nanoseconds: move)) }
      let isOver = state.wait(until: min(still, end)) { state -> Bool? in
        if state.isOver { return true }
        return state.ending?.deadline == deadline ? nil : false
      }
      if isOver == true {
        state.withLock { $0.writer }?.join()
        return true
      }
      let hasStopped = lastMove.load(ordering: .relaxed) == move || BootInstant.now() >= end
      if isOver == nil, hasStopped { return false }
    }
  }

  /// Writes the last word, unless the thread has written it or is in the middle of another text.
  private func sayBeside(_ word: TransferOutcome) {
    let state = state.withLock { state in
      state.isAbandoned = true
      return state
    }
    guard !state.isOver, !state.hasSaidDone else { return }
    var report = report
    let text = rendering(of: word, by: &report)
    if state.stream != .error, !state.isAtLastWord { target.attempt(text.standardError, .error) }
    if state.stream != .output { target.attempt(text.standardOutput, .output) }
  }

  // MARK: The thread

  private func startWriter(_ state: inout OutputState) {
    guard state.writer == nil else { return }
    // Without a thread, the queue is written at the end.
    state.writer = try? OwnerThread(name: "output") { [self] in
      write { target.write($0, $1) { noteMove() } }
    }
  }

  /// Writes the queue, up to the last word.
  private func write(_ put: Put) {
    var report = report
    var list: ItemList? = ItemList()
    /// The lists of several transfers at a time.
    var others: [TransferID: ItemList] = [:]
    while true {
      switch next() {
      case nil: pass(report.tick(at: moment()), put)
      case .say(.event(.done(let result), _)) where !keeps:
        // For a single part, no other event says that it has arrived.
        list?.note(.done(result), at: moment().elapsed)
        finish(&list, by: &report, put)
        say(.success(result), by: &report, put)
      case .say(.event(.of(let transfer, let event), _)):
        var other: ItemList? = others[transfer] ?? ItemList()
        let explained = note(event, in: &other, by: &report, put)
        others[transfer] = explained.isEnd ? nil : other
        pass(report.handle(.of(transfer, explained), at: moment()), put)
      case .say(.event(let event, _)):
        if case .transfer = event {
          list = list ?? ItemList()
          state.withLock { $0.hasSaidDone = false }
        }
        let explained = note(event, in: &list, by: &report, put)
        pass(report.handle(explained, at: moment()), put)
      case .say(.missed(let count)): pass(report.missed(count), put)
      case .makeWay:
        pass(report.clear(), put)
        state.withLock { if case .wanted = $0.hold { $0.hold = .granted } }
        state.broadcast()
      case .end(let word):
        state.withLock { $0.isAtLastWord = true }
        finish(&list, by: &report, put)
        say(word, by: &report, put)
        state.withLock { $0.isOver = true }
        return state.broadcast()
      }
    }
  }

  /// Notes an event in the list of a transfer's items, which is written at its end. Returns the event
  /// with what this device knows about it.
  private func note(
    _ event: TransferEvent, in list: inout ItemList?, by report: inout any Report, _ put: Put
  ) -> TransferEvent {
    // Looking takes a moment: only for as many items as the result names.
    let isShown = list.map { $0.count < UInt64(NotStoredList.shown) } ?? false
    let explained = isShown ? (state.withLock { $0.explain })?(event) ?? event : event
    list?.note(explained, at: moment().elapsed)
    if explained.isEnd {
      finish(&list, by: &report, put)
      list = ItemList()
    }
    return explained
  }

  /// Writes the list of a transfer's items, once, and says where it is.
  private func finish(_ list: inout ItemList?, by report: inout any Report, _ put: Put) {
    let (file, advise, leftOut) = state.withLock { ($0.listFile, $0.advise, $0.lacking) }
    if let migration = list?.migration {
      let advice = migration.arrived.isEmpty ? [] : advise?(migration) ?? []
      list?.migration.advice = advice.map(\.sentence)
      list?.migration.leftOut = leftOut
      report.advise(advice, leavingOut: leftOut)
    }
    if let file, let notice = list.flatMap({ file.write($0) }) {
      pass(report.handle(.notice(notice), at: moment()), put)
    }
    list = nil
  }

  /// The next step; nil if nothing has happened for a while.
  private func next() -> OutputState.Step? {
    while true {
      let step = state.wait(until: .now().advanced(by: Self.longestSilence)) { $0.next(now: .now()) }
      if step != nil || state.withLock({ if case .none = $0.hold { true } else { false } }) { return step }
    }
  }

  /// Writes a last word; a result is written once, by its event or at the end.
  private func say(_ word: TransferOutcome, by report: inout any Report, _ put: Put) {
    guard case .success = word else { return pass(rendering(of: word, by: &report), put) }
    if state.withLock({ $0.hasSaidDone }) { return }
    pass(rendering(of: word, by: &report), put)
    state.withLock { $0.hasSaidDone = true }
  }

  private func rendering(of word: TransferOutcome, by report: inout any Report) -> Rendering {
    switch word {
    case .success(let result): report.handle(.done(result), at: moment())
    case .failure(let failure): report.fail(failure)
    }
  }

  /// Standard error comes first, so that no progress line precedes the result on its line.
  private func pass(_ text: Rendering, _ put: Put) {
    noteMove()
    for (stream, text) in [(StandardStream.error, text.standardError), (.output, text.standardOutput)] {
      guard !text.isEmpty else { continue }
      let isAbandoned = state.withLock { state in
        if !state.isAbandoned { state.stream = stream }
        return state.isAbandoned
      }
      if isAbandoned { return }
      put(text, stream)
    }
    state.withLock { $0.stream = nil }
  }

  private func noteMove() { lastMove.store(BootInstant.now().nanoseconds, ordering: .relaxed) }

  private func moment() -> Moment {
    Moment(
      elapsed: BootInstant.now().seconds(since: start), wall: Timestamp.coarseNow().seconds,
      columns: Terminal.width(StandardStream.error.rawValue) ?? 80)
  }
}

extension TransferEvent {
  /// Whether it ends a transfer.
  fileprivate var isEnd: Bool {
    switch self {
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
