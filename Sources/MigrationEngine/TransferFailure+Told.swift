package import MigrationWire

extension TransferFailure {
  /// What a CLOSE from the other end means for this end's user (Protocol §10).
  ///
  /// The connection counts as lost only where the other end's user broke off, or where one end heard nothing more. What the other
  /// end failed by is told as that.
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
  /// What a CLOSE says besides its words.
  package init(_ close: Close) { self.init(name: close.name, bytes: close.bytes, items: close.items) }
}

extension Close {
  /// How many bytes of a name are shown: the last of a longer one.
  private static let shownName = 512

  /// The reason in words for people, with the name that comes beside the message and with the shortage. All of it is safe to
  /// show.
  fileprivate var clause: String {
    let short = [bytes, items].map { $0.flatMap { $0.isShort ? $0 : nil } }
    let figures = [short[0]?.sizes, short[1]?.entries].compactMap { $0 }.map {
      "it needs \($0.needed) and has \($0.available)"
    }
    // The message that this program sends with figures says them, too.
    let words = code == .noSpace && !figures.isEmpty ? "there is not enough space" : VisibleText.message(message)
    let named = shownName(besides: words).map { "\(words) (\($0))" } ?? words
    return ([named] + figures).joined(separator: "; ")
  }

  /// The name as it is shown; nil where the words have it.
  private func shownName(besides words: String) -> String? {
    guard let name, !name.isEmpty else { return nil }
    if words.contains(VisibleText.quoted(name)) { return nil }
    return name.count > Self.shownName
      ? "…" + VisibleText.quoted(name.suffix(Self.shownName)) : VisibleText.quoted(name)
  }
}
