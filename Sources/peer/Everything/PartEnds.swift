import MigrationApps
import MigrationEngine
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// The end of each part of a plan, as the events of a transfer tell it.
struct PartEnds: Sendable {
  private var parts: [Part] = []
  /// The part of a plan of one, and its end.
  private var only: Part?
  private var onlyResult: TransferResult?
  /// An end is not final: a later session judges a failed part again.
  private var ends: [UInt16: PartEnd] = [:]
  private var refusedRoots: [UInt16: [PartEnd]] = [:]
  private var renamed: [UInt16: [NotStoredList.Renaming]] = [:]
  /// The items that were renamed since the last end of a part.
  private var newlyRenamed: [NotStoredList.Renaming] = []
  /// Whether items are missing that a user could get: since the last end of a part, and in all that arrived.
  private var newlyLacks = false, lacks = false
  private var seconds: [UInt16: Double] = [:]
  private var begun = 0.0
  /// The items that the inventory of this device has left out.
  var leftOut: [Omission] = []
  /// The next steps of the user, besides another try for failed parts.
  var advice: [String] = []

  /// Records an event; times are seconds on any clock.
  mutating func note(_ event: TransferEvent, at now: Double) {
    switch event {
    case .plan(let parts, _): (self.parts, begun) = (parts, now)
    case .offer(_, _, let part): only = part
    case .done(let result):
      onlyResult = parts.isEmpty ? result : nil
      lacks = lacks || newlyLacks
    case .notStored(let item, _): if ![.notSendable, .existsAndDiffers].contains(item.reason) { newlyLacks = true }
    case .resumed: newlyLacks = false
    case .renamed(let path, let target):
      newlyRenamed.append(NotStoredList.Renaming(path: path, target: target))
    case .partEnded(let end) where end.root == nil:
      if case .success = end.result, ends[end.number].map({ $0.result.failure != nil }) ?? true {
        (renamed[end.number], newlyRenamed) = (newlyRenamed, [])
        (lacks, newlyLacks) = (lacks || newlyLacks, false)
        seconds[end.number] = now - begun
      }
      ends[end.number] = end
      begun = now
    case .partEnded(let end):
      let isKnown = refusedRoots[end.number]?.contains { $0.root == end.root } == true
      if !isKnown { refusedRoots[end.number, default: []].append(end) }
    default: break
    }
  }

  /// Whether a part besides the running part has not ended.
  var hasMore: Bool { ends.count + 1 < parts.count }

  /// Whether each part has ended.
  var isOver: Bool { !parts.isEmpty && ends.count == parts.count }

  /// The parts of a plan, the items that stay behind, and the next steps; nil if there are none of
  /// these. `command` is the command line of this device, to be pasted.
  func table(_ command: String) -> MigrationTable? {
    if parts.isEmpty && leftOut.isEmpty && refusedRoots.isEmpty && advice.isEmpty { return nil }
    return MigrationTable(rows: rows(command), leftOut: leftOut, next: next(command) + advice)
  }

  /// The parts that have arrived.
  var arrived: [Part] {
    if let only, onlyResult != nil { return [only] }
    return parts.enumerated().filter { ends[UInt16($0.offset)].map { $0.result.failure == nil } ?? false }.map(
      \.element)
  }

  /// The packages that the sender names with any part, also one that has failed.
  var packages: Set<String> { Set((parts + [only].compactMap(\.self)).flatMap(\.packages)) }

  private func rows(_ command: String) -> [MigrationTable.Row] {
    let count = max(parts.count, refusedRoots.isEmpty ? 0 : 1)
    return (0..<count).flatMap { index in
      let number = UInt16(index)
      let roots = (refusedRoots[number] ?? []).map { row($0, named: VisibleText.of($0.root ?? []), command) }
      guard index < parts.count else { return roots }
      guard let end = ends[number] else {
        return [MigrationTable.Row(name: parts[index].name, state: .skipped, reason: "it was not tried")] + roots
      }
      return [row(end, named: parts[index].name, command)] + roots
    }
  }

  private func row(_ end: PartEnd, named name: String, _ command: String) -> MigrationTable.Row {
    switch end.result {
    case .success(let result) where result.presentParts > 0:
      return MigrationTable.Row(name: name, state: .present, reason: Self.presentReason)
    case .success(let result):
      var row = MigrationTable.Row(name: name, state: result.concludedAt == nil ? .done : .finished)
      (row.items, row.bytes, row.sentBytes) = (result.total.items, result.total.bytes, result.sentBytes)
      row.missing = result.unsent &+ result.notStored
      if row.state == .finished, result.failedParts > 0 {
        row.reason = "\(Figures.count(UInt64(result.failedParts), "folder")) of it did not arrive in an earlier run"
      }
      row.renamed = renamed[end.number] ?? []
      row.seconds = result.concludedAt == nil ? seconds[end.number] : nil
      return row
    case .failure(let failure):
      let failure = failure.of(command)
      return MigrationTable.Row(
        name: name, state: .failed, isDeclined: end.isDeclined, reason: failure.message, hint: failure.hint)
    }
  }

  /// The reason why no data of a part crosses, for both ends.
  static let presentReason = "it was changed on the new computer since it arrived, and nothing is newer on the old one"

  private func next(_ command: String) -> [String] {
    // A declined part has no failure to repair: its hint says how it can follow.
    let failed = (ends.values.filter { !$0.result.isWhole } + refusedRoots.values.joined()).filter { !$0.isDeclined }
    if failed.isEmpty {
      let isOfEarlierRun = parts.count > 1 && rows(command).contains { $0.state == .finished }
      let isNewer = isOfEarlierRun || leftOut.contains(where: \.isNewer)
      return (isNewer ? [DataHint.newerData.text] : [])
        + (lacks ? ["\(DataHint.itemsMissingOfHome.text) \(command)"] : [])
    }
    if failed.allSatisfy({ $0.result.failure?.hint == DataHint.appHasData.text }) {
      let hint: DataHint = lacks ? .partsReplaceAndItems : .partsReplace
      return ["\(hint.text) \(command) --replace"]
    }
    let hint: DataHint = failed.contains(where: \.mayResume) ? .partsFollow : .partsMissing
    return ["\(hint.text) \(command)"]
  }
}

extension TransferOutcome {
  /// Whether it is a success without anything that was left out.
  fileprivate var isWhole: Bool { if case .success(let result) = self { result.failedParts == 0 } else { false } }
}

extension Failure {
  /// Whether it only says that the receiver takes something else than a sender of everything has.
  func isOfPlainReceiver(_ command: String) -> Bool {
    code == .told(.otherApp) && command.contains(" send --everything")
  }

  /// The same in words for the user of a command.
  func of(_ command: String) -> Failure {
    guard isOfPlainReceiver(command) else { return self }
    return Failure(
      code, "the other device receives only folders", hint: "Start 'peer receive --everything' there.", as: kind)
  }
}
