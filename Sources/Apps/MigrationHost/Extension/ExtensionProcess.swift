import MigrationSystem

/// A running extension. The thread that started it passes on its output, makes the calls that its
/// confinement leaves to the host, and waits for its end.
final class ExtensionProcess: Sendable {
  fileprivate struct State: Sendable {
    var started: Result<CInt, SystemError>?
    var end: ChildProcess.End?
    var isUnwanted = false
  }

  fileprivate let state = Condition(State())
  /// Tells the keeper to check the state.
  fileprivate let attention: Wakeup
  fileprivate let ended: Wakeup
  private let keeper: OwnerThread

  /// Starts it with one end of its channel; `output` receives its output, on a separate thread.
  init(
    _ settings: ChildProcess.Settings, channel: consuming Descriptor, lock: consuming Descriptor?,
    output observe: @escaping @Sendable (ExtensionOutput) -> Void
  ) throws(SystemError) {
    attention = try Wakeup()
    ended = try Wakeup()
    let (state, attention, ended) = (state, attention, ended)
    var output = try Descriptor.pipe()
    var error = try Descriptor.pipe()
    let handover = Handover(
      Keeper(
        endowment: ChildProcess.Endowment(
          output: output.takeWriteEnd(), error: error.takeWriteEnd(), channel: channel, lock: lock),
        output: OutputRelay(stream: .output, source: output.takeReadEnd(), observe: observe),
        error: OutputRelay(stream: .error, source: error.takeReadEnd(), observe: observe), state: state,
        attention: attention))
    keeper = try OwnerThread(name: "extension") {
      var keeper = handover.take()
      keeper.keep(settings)
      ended.signal()
    }
    if case .failure(let error)? = state.wait({ $0.started }) {
      keeper.join()
      throw error
    }
  }

  /// Becomes readable when the process has ended and all its output has been passed on.
  var endedDescriptor: CInt { ended.raw }

  /// How it ended; nil while it runs.
  var end: ChildProcess.End? { state.withLock { $0.end } }

  /// Its number; another process may have it once it has ended.
  var number: CInt? { state.withLock { try? $0.started?.get() } }

  /// Kills it soon; without effect if it has ended.
  func kill() {
    state.withLock { $0.isUnwanted = true }
    attention.signal()
  }

  /// Returns when it has ended and all its output has been passed on.
  func waitUntilEnded() { keeper.join() }

  deinit { kill() }

  /// Whether it is stopped now, by a signal or by a debugger; false if that is unknown.
  var isStopped: Bool {
    guard end == nil, let number else { return false }
    // The kernel reports no size for it.
    guard let file = try? Descriptor.openThroughLinks(Array("/proc/\(number)/stat".utf8)) else { return false }
    return (try? file.readToEnd(limit: 4 << 10)).map(Self.isStopped) ?? false
  }

  /// Whether a line of /proc/PID/stat says so: the letter behind the name, which is in brackets and
  /// may contain any other characters.
  static func isStopped(_ line: [UInt8]) -> Bool {
    guard let bracket = line.lastIndex(of: UInt8(ascii: ")")) else { return false }
    let letter = line[(bracket + 1)...].first { $0 != UInt8(ascii: " ") }
    return letter == UInt8(ascii: "T") || letter == UInt8(ascii: "t")
  }

  /// The resources of a process's thread.
  private struct Keeper: ~Copyable, Sendable {
    var endowment: ChildProcess.Endowment?
    var output: OutputRelay
    var error: OutputRelay
    let state: Condition<ExtensionProcess.State>
    let attention: Wakeup
    /// The time between two looks at the process's limits: a process makes some 4,000 threads in it.
    private static let pause = Duration.milliseconds(250)

    mutating func keep(_ settings: ChildProcess.Settings) {
      do throws(SystemError) {
        guard let endowment = endowment.take() else { return }
        let process = try ChildProcess(settings, endowment)
        // From now on only the process has the other ends.
        _ = consume endowment
        report(.success(process.id))
        let end = attend(process)
        state.withLock { $0.end = end }
      } catch {
        report(.failure(error))
      }
      output.finish()
      error.finish()
    }

    private func report(_ result: Result<CInt, SystemError>) {
      state.withLock { $0.started = result }
      state.broadcast()
    }

    /// Waits until the process has ended, and then reads the rest of its output. A process that
    /// exceeds its limits is killed.
    private mutating func attend(_ process: borrowing ChildProcess) -> ChildProcess.End {
      // Until all its threads have ended.
      var isAsking = true
      var excess: ChildProcess.Excess?
      var nextLook = BootInstant.now()
      while var poller = try? Poller() {
        // The kernel ignores the number of a closed stream.
        var interests = [
          Poller.Interest(process.raw, .readable), Poller.Interest(attention.raw, .readable),
          Poller.Interest(output.isOpen ? output.raw : -1, .readable),
          Poller.Interest(error.isOpen ? error.raw : -1, .readable),
          Poller.Interest(isAsking ? process.callsDescriptor : -1, .readable),
        ]
        attention.clear()
        if BootInstant.now() >= nextLook {
          excess = excess ?? process.excess
          nextLook = BootInstant.now().advanced(by: Self.pause)
        }
        if excess != nil || state.withLock({ $0.isUnwanted }) { process.kill() }
        guard (try? poller.wait(&interests, until: nextLook)) != nil else { break }
        let isQuiet = interests[2].ready.isEmpty && interests[3].ready.isEmpty
        if !interests[2].ready.isEmpty { output.pass() }
        if !interests[3].ready.isEmpty { error.pass() }
        if interests[4].ready.contains(.readable) {
          process.answer()
        } else if !interests[4].ready.isEmpty {
          isAsking = false
        }
        if isQuiet, !interests[0].ready.isEmpty { break }
      }
      process.kill()
      let end = (try? process.wait()) ?? .signalled(0)
      return excess.map { .excessive($0) } ?? end
    }
  }

  /// One of a process's streams, passed to an observer line by line.
  struct OutputRelay: ~Copyable, Sendable {
    /// The longest text to show at once; a longer line is passed in pieces.
    private static let longestLine = 4 << 10

    let stream: ExtensionOutput.Stream
    let source: Descriptor
    let observe: @Sendable (ExtensionOutput) -> Void
    var rest: [UInt8] = []
    private(set) var isOpen = true

    var raw: CInt { source.raw }

    /// Passes on the data of one read; the caller knows that it will not block.
    mutating func pass() {
      var buffer = [UInt8](repeating: 0, count: 16 << 10)
      let count = try? source.readNext(into: &buffer)
      guard let count, count > 0 else { return finish() }
      for byte in buffer[..<count] {
        if byte == UInt8(ascii: "\n") {
          tell()
        } else {
          rest.append(byte)
          if rest.count == Self.longestLine { tell() }
        }
      }
    }

    /// Passes on the last line, if it has no end.
    mutating func finish() {
      isOpen = false
      if !rest.isEmpty { tell() }
    }

    private mutating func tell() {
      observe(ExtensionOutput(stream: stream, line: rest))
      rest = []
    }
  }
}

/// A line that an extension wrote.
package struct ExtensionOutput: Sendable {
  package enum Stream: String, Sendable {
    case output
    case error
  }

  package let stream: Stream
  /// The bytes as received, without the line's end; escape them before showing them.
  package let line: [UInt8]
}
