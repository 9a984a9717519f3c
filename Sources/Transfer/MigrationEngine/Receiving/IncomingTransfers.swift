import MigrationWire

/// The current transfer and the transfers that may be continued here, in their order of arrival,
/// with the tasks about them that the store still has to do.
struct IncomingTransfers: RandomAccessCollection, Sendable {
  private var all: [IncomingTransfer] = []
  /// The transfers whose import an earlier run began. This run continues one of them once it
  /// listens, or all of them in turn if the receiver stays.
  private var concluded: [TransferID] = []
  /// The transfers whose pairings used codes of this wait.
  private var paired: Set<TransferID> = []
  /// The tasks for the store, which does one at a time.
  private var tasks: [ReceiverEngine.Action] = []

  init() {}

  /// Begins with the transfers of earlier runs, newest first.
  init(_ known: [ReceiverEngine.EarlierTransfer], keeps: Bool) {
    all = known.map { IncomingTransfer($0) }
    // The most recently finished transfers are forgotten last.
    if keeps { all.reverse() }
    let begun = known.filter { $0.concluded != nil }.map(\.identifier)
    concluded = keeps ? begun : Array(begun.prefix(1))
  }

  var startIndex: Int { all.startIndex }
  var endIndex: Int { all.endIndex }
  subscript(index: Int) -> IncomingTransfer { all[index] }

  /// The transfer with an identifier. A new value replaces only a transfer that is here, and none is
  /// removed this way.
  subscript(of identifier: TransferID) -> IncomingTransfer? {
    get { all.first { $0.identifier == identifier } }
    _modify {
      guard let index = all.firstIndex(where: { $0.identifier == identifier }) else {
        var none: IncomingTransfer?
        yield &none
        return
      }
      // The list gives the transfer away meanwhile: a second reference would make each change copy
      // the transfer's lists, which grow by one item at a time.
      var taken = IncomingTransfer(identifier, pairedWith: all[index].client)
      swap(&taken, &all[index])
      var changed: IncomingTransfer? = consume taken
      defer { if let changed { all[index] = changed } }
      yield &changed
    }
  }

  /// The last transfer of a known sender.
  subscript(from client: KeyFingerprint?) -> IncomingTransfer? { all.last { $0.client == client } }

  /// Whether an import of an earlier run is still to be continued.
  func isToBeContinued(_ identifier: TransferID) -> Bool { concluded.contains(identifier) }

  /// The next import of an earlier run to continue.
  mutating func takeConcluded() -> TransferID? { concluded.isEmpty ? nil : concluded.removeFirst() }

  /// A newly paired sender's transfer begins and replaces the transfers without arrived data,
  /// except served transfers.
  mutating func begin(_ identifier: TransferID, pairedWith client: KeyFingerprint, besides served: Set<TransferID>) {
    let replaced = all.filter { $0.isEmpty && !served.contains($0.identifier) }.map(\.identifier)
    tasks += replaced.map { .discard($0) }
    all.removeAll { replaced.contains($0.identifier) }
    paired.subtract(replaced)
    all.append(IncomingTransfer(identifier, pairedWith: client))
    paired.insert(identifier)
  }

  /// A known device's transfer begins, beside its earlier ones.
  mutating func begin(_ identifier: TransferID, from device: KeyFingerprint) {
    all.append(IncomingTransfer(identifier, pairedWith: device))
  }

  /// A sender's transfer begins and replaces its earlier transfer, which has no arrived data.
  mutating func replace(_ earlier: TransferID, by identifier: TransferID) {
    guard let client = self[of: earlier]?.client else { return }
    tasks.append(.discard(earlier))
    all.removeAll { $0.identifier == earlier }
    all.append(IncomingTransfer(identifier, pairedWith: client))
    if paired.remove(earlier) != nil { paired.insert(identifier) }
  }

  /// A transfer has ended. Returns whether it has brought data and its sender has paired in this
  /// wait, which ends with it.
  mutating func endWait(of identifier: TransferID) -> Bool {
    guard paired.contains(identifier), self[of: identifier]?.isEmpty == false else { return false }
    paired = []
    return true
  }

  /// The user does not want a transfer any more.
  mutating func discard(_ identifier: TransferID) {
    tasks.append(.discard(identifier))
    all.removeAll { $0.identifier == identifier }
    concluded.removeAll { $0 == identifier }
    paired.remove(identifier)
  }

  // MARK: The store

  var hasTasks: Bool { !tasks.isEmpty }

  /// The next task. A transfer is discarded once no session is about it.
  mutating func takeTask(busy: Set<TransferID>) -> ReceiverEngine.Action? {
    let index = tasks.firstIndex { if case .discard(let transfer) = $0 { !busy.contains(transfer) } else { true } }
    return index.map { tasks.remove(at: $0) }
  }

  /// Has the progress of a transfer recorded.
  mutating func note(_ identifier: TransferID) { tasks.append(.note(identifier)) }

  /// The sender knows that a transfer is over.
  mutating func forget(_ identifier: TransferID, keeps: Bool) {
    tasks.append(.forget(identifier))
    if keeps { all.removeAll { $0.identifier == identifier } }
  }

  /// A session acts on a transfer: takes it back if it was released.
  mutating func retake(_ identifier: TransferID) {
    guard self[of: identifier]?.holding == .released else { return }
    self[of: identifier]?.holding = .retaking
    tasks.append(.retake(identifier))
  }

  /// Releases transfers, and forgets the oldest finished ones that no session is about.
  mutating func release(_ resting: [TransferID], busy: Set<TransferID>) {
    for identifier in resting {
      self[of: identifier]?.letGo()
      tasks.append(.release(identifier))
    }
    all.removeAll { $0.holding == .released && $0.fault?.code == .unknownTransfer }
    let done = all.filter { $0.isDone && $0.holding == .released }.map(\.identifier)
    let old = done.prefix(Swift.max(0, done.count - ReceiverEngine.rememberedDone)).filter { !busy.contains($0) }
    if !old.isEmpty { all.removeAll { old.contains($0.identifier) } }
  }
}

extension IncomingTransfer {
  /// From now on, the transfer exists only on the disk, and an attempt that failed may succeed the
  /// next time. The names of a finished transfer's items that are not stored are remembered,
  /// for a sender that asks again.
  fileprivate mutating func letGo() {
    holding = .released
    if fault?.code != .unknownTransfer { fault = nil }
    part.letGo()
  }
}
