extension Failure {
  /// The meaning of a CLOSE from the other end for this end's user (Protocol §10), in this end's words.
  ///
  /// The connection counts as lost only if the other end's user stopped, or if an end fell silent.
  /// A refusal is no failure. Every other code is reported as the other end's failure.
  package init(told close: Close) {
    let kind: Kind =
      switch close.code {
      case .interrupted, .silent: .connectionLost
      case .refused, .exists, .unfit, .otherApp, .unknownTransfer, .unknownKind, .notInstalled, .appInUse,
        .takenAlready, .notAllowed, .nothingNewer:
        .refused
      case .noSpace: .noSpace
      case .importFailed: .importFailed
      case .exportFailed: .exportFailed
      default: .failed
      }
    let verb = close.code == .refused ? "did not take it" : "stopped"
    self.init(
      .told(close.code), "the other device \(verb): \(close.clause)", hint: close.advice, for: close.cause,
      name: close.name,
      bytes: close.bytes, items: close.items, as: kind)
  }
}

extension Close {
  /// How many bytes of a name are shown: the last bytes of a longer name.
  private static let shownName = 512

  /// A hint of this device for the cause, or for the code. The other device has none to give: the
  /// user would take it for this program's words.
  fileprivate var advice: String? {
    switch cause {
    case .tooManyTransfers: return "Complete or forget one of them."
    case .inUse: return "Wait until it is done, or choose another destination there."
    case .appHasData: return DataHint.namesTakenThere.text
    case .recordsFull: return "Free some space there, and start again."
    case .tooMuch:
      return "Start 'peer receive' there with a greater --max-size, or without it; the received data is kept there."
    default: break
    }
    return switch code {
    case .interrupted: DataHint.runAgain.text
    case .version: "Update peer on both devices."
    case .exists: DataHint.namesTakenThere.text
    case .noSpace where bytes?.isShort != true && items?.isShort == true: Close.Space.entriesHint
    case .noSpace: Failure.Code.noSpace.hint
    case .unfit: "Follow the hint on the other device, or choose another destination there."
    case .storage: "The received data is kept. Repair the fault there, and start again."
    case .importFailed: "The received data is kept there: \(DataHint.afterRepair.text)"
    case .refused: DataHint.notTakenThere.text
    case .unknownTransfer: "Start it again, with a new code."
    case .otherApp: "Give --app the same app on both devices, or on neither of them."
    case .unknownKind: "Install the current peer there, and start again."
    case .notInstalled: DataHint.appMissingThere.text
    case .appInUse: DataHint.appInUseThere.text
    default: nil
    }
  }

  /// The reason for people: this device's words for the cause or the code, the system's error, the
  /// name, and the shortage. If this device has no words, the other device's message stands in
  /// quotation marks. All of it is safe to show.
  fileprivate var clause: String {
    if cause == .tooMuch, let bytes { return bytes.exceeded }
    if cause == .outgrown, let bytes, bytes.isShort {
      return "there is not enough space: more comes than the app has estimated, and how much is not known; it has "
        + "\(Figures.size(bytes.available)), and at least \(Figures.size(bytes.needed - bytes.available)) are missing"
    }
    let figures = [bytes.flatMap { $0.isShort ? $0.sizes : nil }, items.flatMap { $0.isShort ? $0.entries : nil }]
      .compactMap { $0 }.map { "it needs \($0.needed) and has \($0.available)" }
    let quoted = name.flatMap(Self.shown)
    var words = cause?.words(of: quoted) ?? code.words(of: quoted)
    // On a data connection, only the message tells streams apart.
    if code == .silent, cause == nil, !message.isEmpty { words = nil }
    var clause = words ?? (message.isEmpty ? "it does not say why (code \(code.rawValue))" : VisibleText.said(message))
    if let quoted, !clause.contains(quoted) { clause += " (\(quoted))" }
    // The other device's own message ends with it.
    if let error, words != nil || message.isEmpty { clause += ": \(ErrorWords.of(error))" }
    return ([clause] + figures).joined(separator: "; ")
  }

  /// A name as it is shown.
  private static func shown(_ name: [UInt8]) -> String? {
    if name.isEmpty { return nil }
    return name.count > shownName
      ? "…" + VisibleText.quoted(name.suffix(shownName)) : VisibleText.quoted(name)
  }
}

extension Close.Cause {
  /// A clause, which may have the name; nil for a cause that this program does not know.
  fileprivate func words(of name: String?) -> String? {
    switch self {
    case .otherKey: "this device's key is not the one with which it has paired"
    case .tooManyTransfers: "too many unfinished transfers of this device are there"
    case .recordsFull: "its disk with the records of transfers is full"
    case .inUse: "another process uses the destination"
    case .collision: "its disk takes two of the names for one"
    case .descriptors: "its limit of open files is too low"
    case .cancelled: "its user has cancelled the import"
    case .unreadable: "it cannot read what it is to send"
    case .forgotten: "its user has forgotten this device"
    case .idle: "no data came for two minutes, or hardly any, and another device is waiting"
    case .reserved:
      name.map { "another device sends \($0) to the same folder at this moment" }
        ?? "another device sends so much at this moment that there may be no room for this"
    case .elsewhere: "another transfer is served there at this moment"
    case .ending: "the receiver has ended there, and may be started again"
    case .appHasData: "\(name ?? "the app") has data on the receiving device already"
    case .leftOut: "its user left it out"
    case .secret: "it is a secret"
    case .mayRun: "it may hold what programs run"
    case .tooMuch: "it is more than its user takes (--max-size)"
    default: nil
    }
  }
}

extension Close.Code {
  /// A clause, which may have the name; nil for a code that this program does not know, and where only
  /// the other end's own words say more: what an app says, how the protocol was broken.
  fileprivate func words(of name: String?) -> String? {
    switch self {
    case .interrupted: "it was interrupted there"
    case .version: "the devices have no common version"
    case .refused: "its user does not want it"
    case .exists: name.map { "\($0) already exists in the destination" } ?? "an item of this name exists there"
    case .noSpace: "there is not enough space"
    case .unfit: "its destination cannot be used"
    case .storage: "its disk or its system has failed"
    case .unknownTransfer: "it does not know this transfer"
    case .superseded: "this device has connected again"
    case .otherApp: "it wants another app, or something else"
    case .silent: "its connections broke, or nothing came for too long"
    case .unknownKind: "it does not know this kind of data"
    case .notInstalled: "the app is not installed there, or not known"
    case .appInUse: "the app is in use there"
    case .takenAlready: "another transfer has brought it, or brings it"
    case .notAllowed: "its description of the app does not allow it"
    case .nothingNewer: "what had arrived of it was changed there, and nothing is newer here"
    default: nil
    }
  }
}
