import MigrationSystem

/// One connection of a browser: a request, and the response or the events that follow.
final class PageConnection {
  /// The connection's present work.
  enum Phase {
    case reading(Request.Parser)
    /// Writes the rest of the output, and ends.
    case ending
    /// Writes events as they come.
    case streaming(PageEvents.Cursor)
  }

  /// The longest time for a request to arrive, or for a reader to take any output.
  static let patience = Duration.seconds(10)
  /// The most bytes of events that wait for a reader.
  private static let portion = 64 << 10

  let socket: StreamSocket
  private(set) var phase = Phase.reading(Request.Parser())
  private var output: [UInt8] = []
  private var written = 0
  /// When it ends without a step; a stream that has nothing to write waits without limit.
  private var deadline: BootInstant
  private(set) var isOver = false

  init(_ socket: consuming StreamSocket, now: BootInstant) {
    self.socket = socket
    deadline = now + Self.patience
  }

  var isStream: Bool { if case .streaming = phase { true } else { false } }

  private var isWriting: Bool { written < output.count }

  /// The readiness that it waits for.
  var wanted: Poller.Readiness {
    switch phase {
    case .reading: .readable
    case .ending: .writable
    // A page that goes away ends its connection.
    case .streaming: isWriting ? [.readable, .writable] : .readable
    }
  }

  /// When it has to take a step.
  var nextMoment: BootInstant? { isStream && !isWriting ? nil : deadline }

  /// Reads the received bytes; returns the request once it is whole, or its fault.
  func read() -> Request.Parser.Outcome {
    var buffer = [UInt8](repeating: 0, count: 4096)
    var memory = buffer.mutableSpan
    let count: Int?
    do throws(SystemError) {
      count = try socket.receive(into: &memory)
    } catch {
      isOver = true
      return .unfinished
    }
    guard let count else { return .unfinished }
    guard count > 0, case .reading(var parser) = phase else {
      // The reader of a stream has nothing more to say.
      isOver = isOver || count == 0
      return .unfinished
    }
    let outcome = parser.take(buffer[..<count])
    phase = .reading(parser)
    return outcome
  }

  /// Answers, and ends then.
  func answer(_ response: Response, now: BootInstant) {
    (output, written, phase, deadline) = (response.bytes, 0, .ending, now + Self.patience)
    write(now: now)
  }

  /// Begins to write events.
  func stream(_ events: PageEvents, now: BootInstant) {
    (output, written, phase) = (Response.streamHead, 0, .streaming(PageEvents.Cursor()))
    fill(from: events, now: now)
  }

  /// Writes the events that there are, as far as the reader takes them.
  func fill(from events: PageEvents, now: BootInstant) {
    write(now: now)
    while !isOver, !isWriting, case .streaming(var cursor) = phase {
      let next = events.next(&cursor, atMost: Self.portion)
      phase = .streaming(cursor)
      if next.isEmpty { return }
      (output, written, deadline) = (next, 0, now + Self.patience)
      write(now: now)
    }
  }

  /// Writes as much as the kernel takes.
  func write(now: BootInstant) {
    let bytes = output
    while isWriting {
      do throws(SystemError) {
        guard let count = try socket.send(bytes.span.extracting(written..<bytes.count)) else { return }
        written += count
        deadline = now + Self.patience
      } catch {
        isOver = true
        return
      }
    }
    if case .ending = phase { isOver = true }
  }

  /// Ends it where it takes too long.
  func check(now: BootInstant) {
    if let nextMoment, now >= nextMoment { isOver = true }
  }
}
