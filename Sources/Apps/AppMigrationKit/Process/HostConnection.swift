internal import MigrationHost
internal import MigrationSystem
internal import MigrationWire

/// The extension's end of its channel: its messages, and the answers that it waits for.
///
/// A thread that waits for the answer to an append receives the answer itself, so that no thread
/// has to wake another one. While no thread waits, a separate thread receives. The receiving thread
/// also obeys all other messages.
final class HostConnection: ItemDestination {
  /// The time after the last append in which the separate thread leaves the channel to appending
  /// threads. A command may be late by this time.
  private static let patience = 0.01

  private struct Conversation {
    var asked = 0
    var answered = 0
    var refusals: [Int: ReportedError] = [:]
    var isCancelled = false
    /// Whether an append has thrown this cancellation to the author's code.
    var hasThrown = false
    /// Whether the host hears of appends that fail in this process.
    var tellsFailures = false
    /// The number of times that a thread has received a message and released the channel.
    var turns = 0
  }

  private let sending: Mutex<Channel>
  private let receiving: Mutex<Channel>
  private let conversation = Condition(Conversation())
  private let obey: @Sendable (HostMessage, HostConnection) -> Void
  private let area: AppendableArea?

  /// Takes over both directions of a channel. Links are appended from an area only. It calls `obey` with each message except answers;
  /// `obey` must not block.
  init(
    _ socket: consuming PacketSocket, appendingFrom area: AppendableArea? = nil,
    obey: @escaping @Sendable (HostMessage, HostConnection) -> Void
  ) throws(SystemError) {
    sending = Mutex(Channel(try socket.duplicate()))
    receiving = Mutex(Channel(socket))
    self.obey = obey
    self.area = area
  }

  /// Sends a message.
  func send(_ message: ExtensionMessage) throws(SystemError) {
    try sending.withLock { channel throws(SystemError) in try channel.send(message.encoded) }
  }

  // MARK: Appending

  /// The host decides about files and directories. Of a link, it does not learn where it is.
  func open(_ path: [UInt8]) throws(CocoaError) -> AppendableItem {
    do throws(CocoaError) {
      let item = try AppendableItem(opening: path)
      let isLink: Bool
      switch item {
      case .open: isLink = false
      case .symbolicLink: isLink = true
      }
      guard isLink, let area else { return item }
      return try area.open(path)
    } catch {
      failed(error)
      throw error
    }
  }

  /// Tells the host whether appends have failed in this process.
  func tellsFailures(_ tells: Bool) { conversation.withLock { $0.tellsFailures = tells } }

  func failed(_ error: CocoaError) {
    guard conversation.withLock({ $0.tellsFailures }) else { return }
    // A host that has ended also ends the process.
    try? send(.failedAppend(ReportedError(error)))
  }

  func refuseIfCancelled() throws {
    let isCancelled = conversation.withLock { conversation in
      conversation.hasThrown = conversation.isCancelled
      return conversation.isCancelled
    }
    if isCancelled { throw CancellationError() }
  }

  func append(_ item: consuming AppendableItem, at path: ArchivePath) throws {
    let number =
      switch consume item {
      case .open(let descriptor): try ask(AppendedItem(path: path.bytes, content: .descriptor), descriptor.raw)
      case .symbolicLink(let target, let modified):
        try ask(AppendedItem(path: path.bytes, content: .symbolicLink(target: target, modified: modified)), nil)
      }
    guard let error = refusal(number) else { return }
    if error == .cancelled { conversation.withLock { $0.hasThrown = true } }
    throw error.thrownError
  }

  /// Whether an append has thrown because the host has cancelled the export.
  var hasThrownCancellation: Bool { conversation.withLock { $0.hasThrown } }

  /// Cancels the export for the host; appends throw from now on.
  func cancel() { conversation.withLock { $0.isCancelled = true } }

  /// Asks the host to append an item; returns the number of the answer.
  private func ask(_ item: AppendedItem, _ descriptor: CInt?) throws(SystemError) -> Int {
    try sending.withLock { channel throws(SystemError) in
      // The count comes first: the answer may arrive before `send` returns.
      let number = conversation.withLock { conversation in
        conversation.asked += 1
        return conversation.asked - 1
      }
      try channel.send(ExtensionMessage.append(item).encoded, passing: descriptor)
      return number
    }
  }

  /// Waits for an answer, and receives it unless another thread is receiving; nil if it refuses nothing.
  private func refusal(_ number: Int) -> ReportedError? {
    while true {
      let (isAnswered, refusal, turns) = conversation.withLock {
        ($0.answered > number, $0.refusals.removeValue(forKey: number), $0.turns)
      }
      if isAnswered { return refusal }
      let isMine = receiving.withLockIfAvailable { channel in
        // The previous thread may have received the answer; then no further message might arrive.
        guard conversation.withLock({ $0.answered <= number }) else { return true }
        _ = channel.awaitPromptly()
        receive(from: &channel)
        return true
      }
      if isMine == true {
        endTurn()
      } else {
        _ = conversation.wait { $0.turns == turns ? nil : () }
      }
    }
  }

  // MARK: Receiving

  /// Receives while no thread waits for an answer. Does not return.
  func serve() -> Never {
    var seen = 0
    while true {
      let asked = conversation.withLock { $0.asked }
      if asked != seen {
        seen = asked
        Thread.sleep(forTimeInterval: Self.patience)
      } else {
        receiving.withLock { receive(from: &$0) }
        endTurn()
      }
    }
  }

  /// Counts a turn after its thread has released the channel: a thread that finds the channel taken
  /// can rely on the end of that turn.
  private func endTurn() {
    conversation.withLock { $0.turns += 1 }
    conversation.broadcast()
  }

  /// Receives one message and obeys it. The end of the channel ends the process.
  private func receive(from channel: inout Channel) {
    do {
      let arrival = try channel.receive()
      switch consume arrival {
      case .packet(let incoming): try take(HostMessage(incoming.bytes))
      case .nothing: return
      case .end: CurrentProcess.exitNow(0)
      }
    } catch {
      ExtensionService.fail("the conversation with the host has failed: \(error)", code: 1)
    }
  }

  private func take(_ message: HostMessage) throws(Violation) {
    guard case .appended(let refusal) = message else { return obey(message, self) }
    try conversation.withLock { conversation throws(Violation) in
      guard conversation.answered < conversation.asked else { throw Violation(.state, "an answer of the host") }
      conversation.refusals[conversation.answered] = refusal
      conversation.answered += 1
    }
  }
}
