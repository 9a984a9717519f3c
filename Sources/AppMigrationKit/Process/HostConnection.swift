internal import MigrationChannel
internal import MigrationHost
internal import MigrationSystem
internal import MigrationWire
internal import Synchronization

/// The extension's end of its channel: what it says, and the answers that it waits for.
///
/// Whoever waits for the answer to an append receives it himself, so that no thread need be woken by another one; while
/// nobody waits, a thread of its own receives. All other messages are obeyed by whoever receives them.
final class HostConnection: ItemDestination {
  /// How long the thread leaves the channel to those who append, after the last append. A command may come that late.
  private static let patience = 0.01

  private struct Conversation {
    var asked = 0
    var answered = 0
    var refusals: [Int: ReportedError] = [:]
    var isCancelled = false
    /// Whether the author's code has been told so by an append.
    var hasThrown = false
    /// How often somebody has received something and let go of the channel.
    var turns = 0
  }

  private enum Answer {
    case done
    case refused(ReportedError)
  }

  private let sending: Mutex<Channel>
  private let receiving: Mutex<Channel>
  private let conversation = Condition(Conversation())
  private let obey: @Sendable (HostMessage, HostConnection) -> Void

  /// Takes over both directions of a channel; `obey` is called with each message but answers, and must not block.
  init(
    _ socket: consuming PacketSocket, obey: @escaping @Sendable (HostMessage, HostConnection) -> Void
  ) throws(SystemError) {
    sending = Mutex(Channel(try socket.duplicate()))
    receiving = Mutex(Channel(socket))
    self.obey = obey
  }

  /// Says something.
  func send(_ message: ExtensionMessage) throws(SystemError) {
    try sending.withLock { channel throws(SystemError) in try channel.send(message.encoded) }
  }

  // MARK: Appending

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
    guard case .refused(let error) = answer(number) else { return }
    if error == .cancelled { conversation.withLock { $0.hasThrown = true } }
    throw error.thrownError
  }

  /// Whether an append has thrown because the host wants no more.
  var hasThrownCancellation: Bool { conversation.withLock { $0.hasThrown } }

  /// The host wants no more; appends throw from now on.
  func cancel() { conversation.withLock { $0.isCancelled = true } }

  /// Asks the host to append an item; the number of the answer to wait for.
  private func ask(_ item: AppendedItem, _ descriptor: CInt?) throws(SystemError) -> Int {
    try sending.withLock { channel throws(SystemError) in
      // Counted first: the answer may be here before `send` returns.
      let number = conversation.withLock { conversation in
        conversation.asked += 1
        return conversation.asked - 1
      }
      try channel.send(ExtensionMessage.append(item).encoded, passing: descriptor)
      return number
    }
  }

  /// Waits for an answer, and receives it unless somebody else does already.
  private func answer(_ number: Int) -> Answer {
    while true {
      let (answer, turns) = conversation.withLock { conversation -> (Answer?, Int) in
        guard conversation.answered > number else { return (nil, conversation.turns) }
        return (conversation.refusals.removeValue(forKey: number).map { .refused($0) } ?? .done, 0)
      }
      if let answer { return answer }
      let isMine = receiving.withLockIfAvailable { channel in
        // Whoever had the channel until now may have received it; then nothing more might ever come.
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

  /// Receives whenever nobody waits for an answer. Does not return.
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

  /// Counted after the channel was let go: who finds it taken can rely on a turn that is still to end.
  private func endTurn() {
    conversation.withLock { $0.turns += 1 }
    conversation.broadcast()
  }

  /// Receives one message and acts on it. The end of the channel ends the process.
  private func receive(from channel: inout Channel) {
    do {
      let arrival = try channel.receive()
      switch consume arrival {
      case .message(let incoming): try take(HostMessage(incoming.bytes))
      case .nothing: return
      case .end: CurrentProcess.exitNow(0)
      }
    } catch {
      ExtensionProcess.fail("the conversation with the host has failed: \(error)", code: 1)
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
