import MigrationSystem
import MigrationWire

/// The host's end of the channel to a running extension; one thread uses it.
struct ExtensionChannel: ~Copyable, Sendable {
  enum Event: ~Copyable {
    case message(ExtensionMessage, Descriptor?)
    /// No message came before the deadline, or before the stop signal was set.
    case nothing
    /// The process has ended, or has closed its end of the channel.
    case ended
  }

  /// The process has closed its channel; the reason is known only after waiting for its end.
  struct Gone: Error {}

  /// The time that an extension that is no longer needed may take to end.
  private static let patience = Duration.seconds(5)
  /// The time for which an extension may leave a message unread.
  private static let readingTime = Duration.seconds(30)

  private var channel: Channel
  private let process: ExtensionProcess
  private var poller: Poller
  /// Ends the wait for the next event.
  let attention: Wakeup
  private var heeded: StopSignal.Waking?
  /// Whether the extension has just been answered, so that its next message usually comes
  /// immediately.
  private var isPrompt = false

  /// Takes ownership of the channel of a process; a stop signal in use signals the wakeup.
  ///
  /// Nothing throws here: Swift 6.2 would destroy the properties of an incomplete value twice.
  init(
    _ channel: consuming Channel, to process: ExtensionProcess, _ poller: consuming Poller, attention: Wakeup
  ) {
    self.attention = attention
    self.channel = channel
    self.process = process
    self.poller = poller
  }

  /// Lets a stop signal end every wait for the next event; it replaces the previous signal.
  mutating func heed(_ stop: StopSignal) {
    heeded = stop.waking(attention)
  }

  /// The next event. Throws a `Violation` if the extension violates the protocol, or a
  /// `SystemError`.
  ///
  /// `isItsTurn`: the extension waits for no answer, and may send a message at any time.
  mutating func next(until deadline: BootInstant?, isItsTurn: Bool = true) throws -> Event {
    if isPrompt, isItsTurn { isPrompt = channel.awaitPromptly() }
    while true {
      let arrival = try channel.receive(waiting: false)
      switch consume arrival {
      case .packet(var incoming): return .message(try ExtensionMessage(incoming.bytes), incoming.descriptor.take())
      case .end: return .ended
      case .nothing: break
      }
      if process.end != nil { return .ended }
      var interests = [
        Poller.Interest(channel.raw, .readable), Poller.Interest(process.endedDescriptor, .readable),
        Poller.Interest(attention.raw, .readable),
      ]
      if try !poller.wait(&interests, until: deadline) { return .nothing }
      if !interests[2].ready.isEmpty {
        attention.clear()
        return .nothing
      }
    }
  }

  /// Waits until the wakeup is signalled, or until the extension has ended if `forItsEnd` is set,
  /// and reads no message. Returns whether it has ended.
  mutating func wait(until deadline: BootInstant?, forItsEnd: Bool) throws(SystemError) -> Bool {
    var interests = [Poller.Interest(attention.raw, .readable)]
    if forItsEnd { interests.append(Poller.Interest(process.endedDescriptor, .readable)) }
    if try poller.wait(&interests, until: deadline) { attention.clear() }
    return forItsEnd && !interests[1].ready.isEmpty
  }

  /// Sends a message; an extension that has ended does not receive it.
  mutating func say(_ message: HostMessage) throws(SystemError) {
    do {
      try channel.send(message.encoded, until: BootInstant.now().advanced(by: Self.readingTime))
      isPrompt = true
    } catch  where error.isConnectionLost {
      // The next read of the channel reports it.
    }
  }

  /// Whether the extension is stopped now, by a signal or by a debugger.
  var isStopped: Bool { process.isStopped }

  func kill() { process.kill() }

  /// Lets the extension end, and kills it if it does not. Returns how it ended.
  consuming func close() -> ChildProcess.End {
    let process = process
    // The end of the channel tells the extension to end.
    finishTalking()
    if var poller = try? Poller() {
      _ = try? poller.wait(
        for: .readable, on: process.endedDescriptor, until: BootInstant.now().advanced(by: Self.patience))
    }
    process.kill()
    process.waitUntilEnded()
    return process.end ?? .signalled(0)
  }

  private consuming func finishTalking() {}

  /// Waits for an extension that has closed its end of the channel. Returns how it ended; nil if it
  /// went on without the channel, and was killed.
  consuming func end() -> ChildProcess.End? {
    if var poller = try? Poller() {
      _ = try? poller.wait(for: .readable, on: process.endedDescriptor, until: .now().advanced(by: Self.endingTime))
    }
    let hasEnded = process.end != nil
    process.kill()
    let end = close()
    return hasEnded ? end : nil
  }

  /// How long an extension whose channel has ended may take to end itself.
  private static let endingTime = Duration.seconds(1)
}

extension ChildProcess.End? {
  /// A clause that can follow "the extension"; nil means that it was killed.
  var words: String { self?.words ?? "gave up its channel, and was ended" }
}

extension ChildProcess.End {
  /// A clause that can follow "the extension".
  var words: String {
    switch self {
    case .exited(let code): "ended with status \(code)"
    case .excessive(.threads(let limit)): "had more than \(Figures.count(limit, "thread")) and was ended"
    case .excessive(.memory(let limit)): "took more than \(limit >> 30) GiB of memory and was ended"
    case .signalled(let number):
      "was ended by signal \(number)\(Self.names[number].map { " (\($0)\(Self.cause(of: number)))" } ?? "")"
    }
  }

  /// Swift ends a program by these signals at a fatal error; the kernel gives no other sign that it has
  /// refused memory.
  private static func cause(of signal: CInt) -> String {
    guard [4, 5, 6].contains(signal) else { return "" }
    let limit = ChildProcess.Limits().memory >> 30
    return ", as at a fatal error, or beyond \(limit) GiB of memory with the stacks of its threads"
  }

  private static let names: [CInt: String] = [
    4: "illegal instruction", 5: "trap", 6: "abort", 7: "bus error", 8: "arithmetic error", 9: "kill",
    11: "segmentation fault", 15: "termination", 31: "forbidden system call",
  ]
}
