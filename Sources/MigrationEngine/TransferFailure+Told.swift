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
    self.init(kind, "the other device stopped: \(close.clause)", hint: close.advice, about: Subject(close))
  }
}

extension TransferFailure.Subject {
  /// The fields of a CLOSE besides its message.
  package init(_ close: Close) { self.init(name: close.name, bytes: close.bytes, items: close.items) }
}

extension Close {
  /// How many bytes of a name are shown: the last bytes of a longer name.
  private static let shownName = 512

  /// A hint of this device for the code. The other device's own hint is not shown: the user would
  /// take it for this program's words.
  fileprivate var advice: String? {
    switch code {
    case .version: "Update peer on both devices."
    case .exists: Fault.Code.exists.hint
    case .noSpace where bytes == nil && items == nil:
      "Free some space there, or start 'peer receive' there with a greater --max-size."
    case .noSpace: Fault.Code.noSpace.hint
    case .unfit: "Follow the hint on the other device, or choose another destination there."
    case .storage: "The received data is kept. Repair the fault there, and start again."
    case .unknownTransfer: "Start it again, with a new code."
    case .otherApp: "Give --app the same app on both devices, or on neither of them."
    default: nil
    }
  }

  /// The reason for people: the other device's words in quotation marks, the name that comes beside
  /// them, and the shortage. All of it is safe to show.
  fileprivate var clause: String {
    let short = [bytes, items].map { $0.flatMap { $0.isShort ? $0 : nil } }
    let figures = [short[0]?.sizes, short[1]?.entries].compactMap { $0 }.map {
      "it needs \($0.needed) and has \($0.available)"
    }
    // This program's own message with figures contains them, too.
    let words = code == .noSpace && !figures.isEmpty ? "there is not enough space" : VisibleText.said(message)
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
