import MigrationSystem
import MigrationTransfer
import MigrationWire
import Synchronization

/// Everything that the program says during a transfer, on standard output and standard error.
///
/// Any thread may hand events to it, and none ever waits for a slow terminal or a reader of a pipe: a thread of its
/// own does the writing. That thread starts with the first event, so that whatever must come before all threads
/// (signals, the sandbox) can. Of progress only the latest is kept.
final class Output: Sendable {
  private struct Queue {
    var events: [TransferEvent] = []
    var writer: OwnerThread?
    var isHeld = false
    var isClosed = false
  }

  private struct Page {
    var report: any Report
    var isDone = false
  }

  /// How long nothing may happen before progress is shown again, in seconds.
  private static let longestSilence = Duration.milliseconds(500)

  private let queue = Condition(Queue())
  private let page: Mutex<Page>
  private let start = BootInstant.now()
  private let put: @Sendable (Rendering) -> Void

  /// Speaks to a person, or to a program.
  convenience init(_ role: Role, json: Bool, app: String? = nil) {
    let wanted = app.map { "--app \(VisibleText.of($0))" } ?? "PATH..."
    self.init(json ? JSONReport() : HumanReport(role, on: .standardError, wanting: wanted))
  }

  /// Writes what a report makes of the events. `put` is called by one thread at a time.
  init(_ report: any Report, to put: @escaping @Sendable (Rendering) -> Void = Output.putOnStandardStreams) {
    page = Mutex(Page(report: report))
    self.put = put
  }

  /// Standard error comes first, so that nothing is drawn on the line where the result begins.
  private static let putOnStandardStreams: @Sendable (Rendering) -> Void = { text in
    if !text.standardError.isEmpty { StandardStream.error.write(text.standardError) }
    if !text.standardOutput.isEmpty { StandardStream.output.write(text.standardOutput) }
  }

  /// Takes note of something that happened; returns at once.
  func handle(_ event: TransferEvent) {
    queue.withLock { queue in
      if queue.isClosed { return }
      if case .progress(let new) = event, case .progress(let old) = queue.events.last, new.phase == old.phase {
        queue.events.removeLast()
      }
      queue.events.append(event)
      // Without a thread, what was said is written at the end.
      if queue.writer == nil { queue.writer = try? OwnerThread(name: "output") { self.write() } }
    }
    queue.broadcast()
  }

  /// Runs `body` while nothing else is written, a question to the user say. What happens meanwhile is told afterwards.
  func hold<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    queue.withLock { $0.isHeld = true }
    render { page in page.report.clear() }
    defer {
      queue.withLock { $0.isHeld = false }
      queue.broadcast()
    }
    return try body()
  }

  /// Writes all that is left, and the result if no event told it. Returns the program's exit code.
  func finish(_ result: TransferResult) -> Int32 {
    close()
    render { page in self.rendering(of: .done(result), &page) }
    return page.withLock { ExitCode.of(result, unsent: $0.report.unsent) }
  }

  /// Writes all that is left, and the failure. Returns the program's exit code.
  func fail(_ failure: TransferFailure) -> Int32 {
    close()
    render { page in page.report.fail(failure) }
    return ExitCode.of(failure)
  }

  private func close() {
    let writer = queue.withLock { queue in
      queue.isClosed = true
      return queue.writer
    }
    queue.broadcast()
    writer?.join()
    writeEvents()
  }

  /// The body of the thread.
  private func write() {
    while true {
      let isClosed = queue.wait(until: .now().advanced(by: Self.longestSilence)) { queue -> Bool? in
        if queue.isClosed { return true }
        return queue.isHeld || queue.events.isEmpty ? nil : false
      }
      if isClosed == true { return }
      if isClosed == false { writeEvents() } else { tick() }
    }
  }

  private func writeEvents() {
    render { page in
      // Taken only now that nobody else writes: whoever holds the output must not be written over.
      let events = queue.withLock { queue in
        if queue.isHeld { return [TransferEvent]() }
        defer { queue.events = [] }
        return queue.events
      }
      return events.reduce(into: Rendering()) { text, event in
        let next = rendering(of: event, &page)
        text.standardError += next.standardError
        text.standardOutput += next.standardOutput
      }
    }
  }

  private func tick() {
    render { page in
      queue.withLock { $0.isHeld } ? Rendering() : page.report.tick(at: moment())
    }
  }

  private func rendering(of event: TransferEvent, _ page: inout Page) -> Rendering {
    if case .done = event {
      if page.isDone { return Rendering() }
      page.isDone = true
    }
    return page.report.handle(event, at: moment())
  }

  private func render(_ body: (inout Page) -> Rendering) {
    page.withLock { page in
      let text = body(&page)
      if text != Rendering() { put(text) }
    }
  }

  private func moment() -> Moment {
    Moment(
      elapsed: BootInstant.now().seconds(since: start), wall: Timestamp.coarseNow().seconds,
      columns: Terminal.width(StandardStream.error.rawValue) ?? 80)
  }
}

extension HumanReport.Surface {
  /// What standard error is, and what can be drawn on it.
  static var standardError: HumanReport.Surface {
    guard Terminal.isTerminal(StandardStream.error.rawValue), Environment.get("TERM") != "dumb" else { return .log }
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(Environment.get).first { !$0.isEmpty } ?? ""
    let isUTF8 = locale.lowercased().hasSuffix("utf-8") || locale.lowercased().hasSuffix("utf8")
    return .terminal(isUTF8 ? .blocks : .plain)
  }
}
