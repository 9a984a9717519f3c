import MigrationSystem
import Synchronization

/// News for a thread that sits in a poll loop: posting wakes it.
final class Mailbox<News: Sendable>: Sendable {
  let wakeup: Wakeup
  private let letters = Mutex<[News]>([])

  /// Letters wake whoever waits for this wakeup.
  init(wakeup: Wakeup) { self.wakeup = wakeup }

  /// Leaves something for the owner. Never blocks.
  func post(_ news: News) {
    letters.withLock { $0.append(news) }
    wakeup.signal()
  }

  /// Takes everything that was left, in order.
  func take() -> [News] {
    letters.withLock { letters in
      defer { letters = [] }
      return letters
    }
  }
}
