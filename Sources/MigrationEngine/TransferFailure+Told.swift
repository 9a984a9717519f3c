package import MigrationWire

extension TransferFailure {
  /// The meaning of a CLOSE from the other end for this end's user (Protocol §10).
  ///
  /// The connection counts as lost only where the other end's user stopped, or where one end fell
  /// silent. Every other code is reported as the other end's failure.
  package init(told close: Close) {
    let kind: Kind =
      switch close.code {
      case .interrupted, .silent: .connectionLost
      case .refused, .exists, .unfit, .otherApp, .unknownTransfer: .refused
      case .noSpace: .noSpace
      case .importFailed: .importFailed
      case .exportFailed: .exportFailed
      default: .failed
      }
    self.init(
      kind, "the other device stopped: \(close.clause)", hint: close.hint.map { VisibleText.message($0) },
      about: Subject(close))
  }
}

extension TransferFailure.Subject {
  /// The fields of a CLOSE besides its message.
  package init(_ close: Close) { self.init(name: close.name, bytes: close.bytes, items: close.items) }
}

extension Close {
  /// How many bytes of a name are shown: the last bytes of a longer name.
  private static let shownName = 512

  /// The reason for people, with the name that comes beside the message and with the shortage. All
  /// of it is safe to show.
  fileprivate var clause: String {
    let short = [bytes, items].map { $0.flatMap { $0.isShort ? $0 : nil } }
    let figures = [short[0]?.sizes, short[1]?.entries].compactMap { $0 }.map {
      "it needs \($0.needed) and has \($0.available)"
    }
    // This program's own message with figures contains them, too.
    let words = code == .noSpace && !figures.isEmpty ? "there is not enough space" : VisibleText.message(message)
    let named = shownName(besides: words).map { "\(words) (\($0))" } ?? words
    return ([named] + figures).joined(separator: "; ")
  }

  /// The name to show; nil where the message contains it.
  private func shownName(besides words: String) -> String? {
    guard let name, !name.isEmpty else { return nil }
    if words.contains(VisibleText.quoted(name)) { return nil }
    return name.count > Self.shownName
      ? "…" + VisibleText.quoted(name.suffix(Self.shownName)) : VisibleText.quoted(name)
  }
}
