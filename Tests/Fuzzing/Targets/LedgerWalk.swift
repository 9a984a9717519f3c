import FuzzDriver

@testable import MigrationWire

/// A ledger whose events come from the input, with a disk around it that does as the ledger says.
///
/// Its sums are those of its entries after every event, and it takes no more than the offer.
struct LedgerWalk {
  private static let keys = TransferKeys(hashKey: 2)

  private var input: InputBytes
  private var ledger = Ledger(keys: keys, bound: Bound(items: 4, bytes: 64, metadata: 4096))
  /// The pieces that are being written, and the records of finished items.
  private var writing: [FilePiece] = []
  private var finished: [ItemRecord] = []
  /// Whether a session has begun. Before it, the entries come from the journal.
  private var isReceiving = false

  init(_ input: ArraySlice<UInt8>) { self.input = InputBytes(input) }

  mutating func run() {
    while !input.isEmpty {
      do throws(Violation) { try step() } catch {}
      check()
    }
    for place in writing { try? finish(staged: place) }
    writing = []
    check()
  }

  private mutating func step() throws(Violation) {
    switch input.byte() % 16 {
    case 0: begin()
    case 1...4: try admit()
    case 5, 6: if !writing.isEmpty { try finish(staged: writing.remove(at: input.number(below: writing.count))) }
    case 7...9: try receive()
    case 10: refuse()
    case 11: if !finished.isEmpty { ledger.drop(finished.remove(at: input.number(below: finished.count))) }
    case 12: if let path = input.path() { ledger.discard(path) }
    case 13: ledger.dropRefused(ledger.refused.marks.sorted().first ?? 0)
    case 14: if !finished.isEmpty { ledger.place(finished[input.number(below: finished.count)], at: input.u64()) }
    default: if !isReceiving { try restore() }
    }
  }

  private mutating func begin() {
    for place in writing { try? finish(staged: place) }
    writing = []
    isReceiving = true
    ledger.begin(Bound(items: input.u64(), bytes: input.u64(), metadata: input.u64(), metadataPerItem: input.u64()))
    finished.removeAll { !ledger.holds($0) }
  }

  private mutating func admit() throws(Violation) {
    guard isReceiving, let place = place() else { return }
    if case .write = try ledger.admit(place) { writing.append(place) }
  }

  private mutating func finish(staged place: FilePiece) throws(Violation) {
    guard let (_, record) = ledger.stage(place) else { return }
    try finish(record)
  }

  private mutating func finish(_ record: ItemRecord) throws(Violation) {
    try ledger.finish(record)
    promise(ledger.holds(record), "a finished item is not held")
    finished.append(record)
  }

  private mutating func receive() throws(Violation) {
    guard isReceiving, let record = record() else { return }
    let hasContent = input.flag()
    switch try ledger.receive(record, hasContent: hasContent) {
    case .held:
      promise(
        ledger.knows(ledger.mark(record)) || ledger.isIncomplete(record.path, record.generation), "nothing is held")
    case .waiting: promise(ledger.isIncomplete(record.path, record.generation), "nothing is waited for")
    case .create:
      if record.size > 0, !hasContent { _ = try ledger.await(record) } else { try finish(record) }
    case .complete: try finish(record)
    case .refused: ledger.refuse(record)
    }
  }

  private mutating func refuse() {
    guard isReceiving, let path = input.path() else { return }
    let generation = Generation(input.byte() % 4)
    ledger.refuse(path, generation)
    finished.removeAll { !ledger.holds($0) }
  }

  private mutating func restore() throws(Violation) {
    switch input.byte() % 3 {
    case 0:
      // A journal claims no more bytes than an archive may have.
      guard let place = place(), UInt64(place.range.count) <= Limits.fileSize.subtractingClamped(ledger.heldBytes)
      else { return }
      if let record = try ledger.restore(place) { finished.append(record) }
    case 1: if let record = record(), let whole = try ledger.restore(sealed: record) { finished.append(whole) }
    default:
      guard let path = input.path() else { return }
      ledger.restore(refused: path, Generation(input.byte() % 4), size: input.flag() ? input.u64() : nil)
    }
  }

  // MARK: Values

  private mutating func place() -> FilePiece? {
    guard let path = input.path() else { return nil }
    let generation = Generation(input.byte() % 4)
    let isHole = input.flag()
    let start = min(isHole ? input.u64() : UInt64(input.byte()), Limits.fileSize - 1)
    let count = max(1, min(isHole ? input.u64() : UInt64(input.byte()), Limits.fileSize - start))
    return FilePiece(path: path, generation: generation, range: start..<start + count, isHole: isHole)
  }

  private mutating func record() -> ItemRecord? {
    guard let path = input.path() else { return nil }
    let body: ItemRecord.Body
    switch input.byte() % 8 {
    case 0: body = .directory
    case 1: body = .symbolicLink(target: [0x61])
    case 2:
      guard let target = input.path() else { return nil }
      body = .hardLink(target: target)
    case 3: body = .file(size: min(input.u64(), Limits.fileSize))
    default: body = .file(size: UInt64(input.byte()))
    }
    let made = ItemRecord(
      path: path, generation: Generation(input.byte() % 4), body: body, mode: UInt16(input.byte() % 2))
    // A ledger gets only records that have been decoded.
    var writer = ByteWriter()
    made.write(to: &writer)
    return try? ItemRecord(writer.bytes.span, 0..<writer.bytes.count)
  }

  // MARK: Promises

  private func check() {
    promise(ledger.total.items == UInt64(ledger.complete.count), "the complete items are counted wrongly")
    promise(ledger.digest == ledger.complete.reduce(0) { $0 &+ $1.value }, "the digest is another one")
    let incomplete = ledger.incomplete.values
    promise(
      ledger.incompleteBytes == incomplete.reduce(0) { $0.addingClamped($1.ranges.count) }, "incomplete bytes are lost")
    promise(incomplete.count(where: { !$0.isRefused }) <= Limits.incompleteFiles, "too many files are incomplete")
    promise(zip(ledger.marks, ledger.marks.dropFirst()).allSatisfy(<), "marks do not ascend")
    guard isReceiving else { return }
    let admitted = writing.reduce(0 as UInt64) { $0.addingClamped(UInt64($1.range.count)) }
    promise(ledger.admittedBytes == admitted, "bytes that are being written are counted wrongly")
    promise(ledger.comingBytes <= ledger.bound.bytes, "more bytes come than were offered")
  }
}
