import MigrationEngine
import MigrationHost

extension TransferEvent {
  /// An event for news of an extension's host; nil for news that only its author gets.
  init?(_ news: HostNews) {
    switch news {
    case .output(let output): self = .extensionOutput(isError: output.stream == .error, line: output.line)
    case .notice(let text), .weakness(let text): self = .notice(text)
    case .refused, .appended: return nil
    }
  }
}

extension HostNews {
  /// Tells the user's part of the news.
  static func telling(_ tell: @escaping @Sendable (TransferEvent) -> Void) -> @Sendable (HostNews) -> Void {
    return { news in
      if let event = TransferEvent(news) { tell(event) }
    }
  }
}
