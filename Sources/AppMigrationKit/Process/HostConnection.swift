internal import MigrationHost
internal import MigrationSystem
internal import MigrationWire
internal import Synchronization

/// What an extension says to its host, and the answers that are waited for.
///
/// Messages come in on another thread, which hands in the answers.
final class HostConnection: ItemDestination {
  private struct Conversation {
    var asked = 0
    var answered = 0
    var refusals: [Int: ReportedError] = [:]
    var isCancelled = false
  }

  private enum Answer {
    case done
    case refused(ReportedError)
  }

  private let channel: Mutex<Channel>
  private let conversation = Condition(Conversation())

  init(_ channel: consuming sending Channel) { self.channel = Mutex(channel) }

  /// Says something.
  func send(_ message: ExtensionMessage) throws(SystemError) {
    try channel.withLock { channel throws(SystemError) in try channel.send(message.encoded) }
  }

  // MARK: Appending

  func refuseIfCancelled() throws {
    if conversation.withLock({ $0.isCancelled }) { throw CancellationError() }
  }

  func append(_ item: consuming AppendableItem, at path: ArchivePath) throws {
    let number =
      switch consume item {
      case .open(let descriptor): try ask(AppendedItem(path: path.bytes, content: .descriptor), descriptor.raw)
      case .symbolicLink(let target, let modified):
        try ask(AppendedItem(path: path.bytes, content: .symbolicLink(target: target, modified: modified)), nil)
      }
    let answer = conversation.wait { conversation -> Answer? in
      guard conversation.answered > number else { return nil }
      return conversation.refusals.removeValue(forKey: number).map { .refused($0) } ?? .done
    }
    if case .refused(let error) = answer { throw error.thrownError }
  }

  /// Asks the host to append an item; the number of the answer to wait for.
  private func ask(_ item: AppendedItem, _ descriptor: CInt?) throws(SystemError) -> Int {
    try channel.withLock { channel throws(SystemError) in
      // Counted first: the answer may be here before `send` returns.
      let number = conversation.withLock { conversation in
        conversation.asked += 1
        return conversation.asked - 1
      }
      try channel.send(ExtensionMessage.append(item).encoded, passing: descriptor)
      return number
    }
  }

  /// Hands in the host's answer to the oldest append that has none.
  func answer(_ refusal: ReportedError?) throws(Violation) {
    try conversation.withLock { conversation throws(Violation) in
      guard conversation.answered < conversation.asked else { throw Violation(.state, "an answer of the host") }
      conversation.refusals[conversation.answered] = refusal
      conversation.answered += 1
    }
    conversation.broadcast()
  }

  /// The host wants no more; appends throw from now on.
  func cancel() { conversation.withLock { $0.isCancelled = true } }
}
