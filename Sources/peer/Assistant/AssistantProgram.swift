import MigrationEngine
import MigrationPage
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// Runs the programs behind the page: `peer send --everything` and `peer receive --everything`, as
/// processes that ask by JSON. The page gets their lines unchanged.
final class AssistantProgram: PageProgram {
  private struct State {
    var child: Child?
    /// Whether no report of a transfer is left.
    var isIdle = true
    /// Whether a search or a list of transfers runs.
    var isLooking = false
    /// Whether a transfer has ended and no page has shown it.
    var isUnseen = false
    /// Whether no new process may start.
    var isEnding = false
    /// Whether a person was asked to close an app: perhaps the browser that shows the page.
    var hasAskedToClose = false
  }

  /// A transfer that runs.
  private struct Child {
    let program: UserProgram
    /// Its standard input.
    let input: SharedDescriptor
    var question = OpenQuestion()
    /// Whether it was told to end, or has written its last line. Another signal would end it at once, or
    /// reach another process.
    var isEnding = false

    /// Ends it in order.
    mutating func interrupt() {
      if !isEnding { program.interrupt() }
      isEnding = true
    }
  }

  let events: PageEvents
  private let page: PageFolder
  private let opensBrowser: Bool
  /// The folders of the files that lead to the page.
  private let places: [[UInt8]]
  private let state = Condition(State())

  init(_ page: PageFolder, opensBrowser: Bool, leadingFrom places: [[UInt8]]) throws(SystemError) {
    (self.page, self.opensBrowser, self.places) = (page, opensBrowser, places)
    events = try PageEvents()
    events.begin(with: Self.line("idle"))
  }

  func content(of file: Route.PageFile) -> [UInt8]? { try? page.content(of: file) }

  func isNeeded(isShown: Bool) -> Bool {
    state.withLock { state in
      if isShown, state.child == nil { state.isUnseen = false }
      return state.child != nil || state.isUnseen
    }
  }

  /// The page comes back at the end: its browser may be what moves.
  func wantsPage(isShown: Bool) -> Bool {
    state.withLock { state in
      guard state.hasAskedToClose, state.isUnseen, state.child == nil else { return false }
      state.hasAskedToClose = false
      return !isShown
    }
  }

  func open(_ address: String) { Assistant.open(address, opensBrowser, by: places) }

  func endTickets() { LeadingFile.removeAll(in: places) }

  func perform(_ call: Call, _ form: [String: String]) -> Status {
    switch call {
    case .look: return look(listingApps: form["apps"] == "yes")
    case .send, .receive:
      guard let arguments = Self.arguments(call, form) else { return .malformed }
      return start(call, arguments)
    case .answer: return answer(form["line"] ?? "", to: form["number"])
    case .stop:
      return state.withLock { state in
        state.child?.interrupt()
        return state.child == nil ? .conflict : .done
      }
    case .leave:
      let isFree = state.withLock { state in
        state.isIdle = state.isIdle || state.child == nil
        return state.child == nil
      }
      if isFree { events.begin(with: Self.line("idle")) }
      return isFree ? .done : .conflict
    }
  }

  /// The command line for a form; nil if it has a value that no command takes.
  static func arguments(_ call: Call, _ form: [String: String]) -> [String]? {
    var arguments = [call.rawValue, "--everything", "--json", "--ask"]
    if call == .send { arguments.append("--wait") }
    for (name, value) in form.sorted(by: { $0.key < $1.key }) {
      switch (call, name) {
      case (.send, "to") where !value.isEmpty && value.utf8.count <= 300: arguments.append("--to=\(value)")
      case (_, "via") where !value.isEmpty && value.utf8.count <= 300: arguments.append("--via=\(value)")
      case (.receive, "replace") where value == "yes": arguments.append("--replace")
      default: return nil
      }
    }
    return arguments
  }

  // MARK: Processes

  private static func line(_ state: String, _ members: JSONMembers = [:]) -> String {
    let about: JSONMembers = ["state": state, "label": ThisDevice.label(nil), "version": Version.current]
    return String(Rendering.event("assistant", about + members).standardOutput.dropLast())
  }

  /// Starts this program once more, and takes its lines on a thread of their own, which ends with it.
  ///
  /// - Parameters:
  ///   - began: called with the process before its first line is read.
  ///   - ended: called after its last line, before it is waited for: until then its number is its own.
  private func run(
    _ arguments: [String], began: (Child) -> Void = { _ in }, _ take: @escaping @Sendable (String) -> Void,
    ended: @escaping @Sendable () -> Void, left: @escaping @Sendable (Int32) -> Void
  ) throws(SystemError) {
    var input = try Descriptor.pipe()
    var output = try Descriptor.pipe()
    let reading = SharedDescriptor(output.takeReadEnd())
    let program = try UserProgram(
      "/proc/self/exe", arguments, input: input.takeReadEnd(), output: output.takeWriteEnd())
    began(Child(program: program, input: SharedDescriptor(input.takeWriteEnd())))
    let body = { @Sendable in
      var lines = LineReader(reading)
      while let line = lines.next() { take(line) }
      ended()
      left((try? program.wait()) ?? ExitCode.of(Failure(.failed, "")))
    }
    do throws(SystemError) {
      _ = try OwnerThread(name: "page's command", body)
    } catch {
      program.interrupt()
      body()
    }
  }

  private func start(_ call: Call, _ arguments: [String]) -> Status {
    let isFree = state.withLock { state in
      let isFree = state.child == nil && !state.isEnding
      if isFree { (state.isIdle, state.hasAskedToClose) = (false, false) }
      return isFree
    }
    guard isFree else { return .conflict }
    events.begin(with: Self.line("running", ["role": call.rawValue]))
    do throws(SystemError) {
      try run(
        arguments, began: { child in state.withLock { $0.child = child } }, { [self] in take($0) },
        ended: { [self] in state.withLock { $0.child?.isEnding = true } }, left: { [self] in end(call, $0) })
      return .done
    } catch {
      state.withLock { $0.isIdle = true }
      events.begin(with: Self.line("idle"))
      return .failed
    }
  }

  private func take(_ line: String) {
    if line.hasPrefix("{\"event\":\"progress\"") { return events.show(progress: line) }
    state.withLock { state in
      state.child?.question.note(line)
      if line.hasPrefix("{\"event\":\"appInUse\"") { state.hasAskedToClose = true }
    }
    events.add(line)
  }

  private func end(_ call: Call, _ code: Int32) {
    state.withLock { ($0.child, $0.isUnseen) = (nil, true) }
    state.broadcast()
    events.add(Self.line("ended", ["role": call.rawValue, "code": code]))
  }

  private func answer(_ line: String, to number: String?) -> Status {
    let answer = state.withLock { state -> (String, SharedDescriptor)? in
      guard let answer = state.child?.question.answer(line, to: number), let child = state.child else { return nil }
      return (answer, child.input)
    }
    guard let (line, input) = answer else { return .conflict }
    StandardStream.attempt(Array(line.utf8).span, to: input.raw, within: 100)
    return .done
  }

  /// Looks for waiting computers, and for a migration that can go on; and for the apps that have data here.
  private func look(listingApps isListing: Bool) -> Status {
    let isFree = state.withLock { state in
      let isFree = !state.isLooking && !state.isEnding && state.isIdle
      state.isLooking = state.isLooking || isFree
      return isFree
    }
    guard isFree else { return .conflict }
    events.begin(with: Self.line("idle"))
    look(["resume list"] + (isListing ? ["app list --all"] : []) + ["discover"])
    return .done
  }

  /// Runs commands one after the other, also after one that does not start.
  private func look(_ commands: [String]) {
    guard let command = commands.first else {
      state.withLock { $0.isLooking = false }
      return events.add(Self.line("looked"))
    }
    let rest = Array(commands.dropFirst())
    do throws(SystemError) {
      try run(
        "\(command) --json".split(separator: " ").map(String.init), { [self] in events.add($0) },
        ended: { [self] in if command.hasPrefix("app") { events.add(Self.line("listed")) } },
        left: { [self] _ in look(rest) })
    } catch {
      look(rest)
    }
  }

  /// Ends the running process, in order, and waits for its end.
  func end() {
    state.withLock { state in
      state.isEnding = true
      state.child?.interrupt()
    }
    _ = state.wait(until: nil) { $0.child == nil ? true : nil }
  }

  /// The question of a process that waits for an answer.
  struct OpenQuestion: Equatable, Sendable {
    private var number: String?

    /// Notes the question that a line of the process asks or withdraws.
    mutating func note(_ line: String) {
      if let asked = Self.number(of: "question", line) { number = asked }
      if Self.number(of: "withdrawn", line) != nil { number = nil }
    }

    /// The number in a line that is such an event; it stands in front of all texts of other devices.
    private static func number(of event: String, _ line: String) -> String? {
      let start = "{\"event\":\"\(event)\",\"number\":"
      return line.hasPrefix(start) ? String(line.dropFirst(start.count).prefix { $0.isNumber }) : nil
    }

    /// The line that answers the question with a number, once; nil if that question is not open: it
    /// may have been withdrawn, and another question asked.
    mutating func answer(_ line: String, to number: String?) -> String? {
      guard let number, number == self.number else { return nil }
      self.number = nil
      return "#\(number) \(line)\n"
    }
  }

  /// The lines of a pipe, one after the other.
  private struct LineReader {
    private let pipe: SharedDescriptor
    private var bytes: [UInt8] = []
    private var start = 0
    /// Up to where there is no end of a line.
    private var seen = 0

    init(_ pipe: SharedDescriptor) { self.pipe = pipe }

    /// The next line; nil at the end.
    mutating func next() -> String? {
      while true {
        if let end = bytes[seen...].firstIndex(of: UInt8(ascii: "\n")) {
          defer { (start, seen) = (end + 1, end + 1) }
          return String(decoding: bytes[start..<end], as: UTF8.self)
        }
        bytes.removeFirst(start)
        (start, seen) = (0, bytes.count)
        var more = [UInt8](repeating: 0, count: 64 << 10)
        guard let count = try? pipe.descriptor.readNext(into: &more), count > 0 else { return nil }
        bytes += more[..<count]
      }
    }
  }
}
