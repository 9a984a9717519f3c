import Expectations
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// A ledger is reported in parts of limited size, in the order of Protocol §6.4.
@Suite struct LedgerReaderTests {
  private let scratch: Scratch
  private let staging: Staging
  private let present: PresentItems

  /// The numbers of whole and of incomplete files; the same numbers at the destination.
  init() throws { self = try Self(whole: 40, partial: 7) }

  private init(whole: Int, partial: Int) throws {
    scratch = try Scratch.withFolders()
    let offer = offer(items: UInt64(whole + partial + 1))
    let arrival = try Arrival(scratch, offer)
    staging = arrival.staging
    staging.beginSession(offer)
    try arrival.write([
      Crafted.frame { frame in
        for index in 0..<whole { frame.file(try record("root/\(index)", .file(size: 1)), [1]) }
        for index in 0..<partial {
          for piece in 0...index { try frame.chunk("root/p\(index)", 1, at: UInt64(piece) * 20, pattern(10)) }
        }
      }
    ])
    for index in 0..<whole { scratch.write("destination/there/\(index)", [1]) }
    present = try PresentItems(
      of: [PresentItems.root("there")], in: scratch.open("destination"), keys: testKeys)
  }

  private func parts(length: Int = 1 << 20, room: UInt64 = .max) -> [LedgerPage] {
    var reader = LedgerReader(staging, present: present, room: room, partLength: length)
    var parts: [LedgerPage] = []
    repeat { parts.append(reader.next()) } while parts.last?.end == nil && parts.count < 1_000
    return parts
  }

  private func length(_ part: LedgerPage) -> Int {
    part.pages.reduce(0) { $0 + ControlMessage.held($1).frame.count }
      + part.partials.reduce(0) { $0 + ControlMessage.partial($1).frame.count }
  }

  @Test(arguments: [100, 101, 117, 250, 1_000, 1 << 20])
  func `every mark and every incomplete file is reported once, in parts that fit`(_ length: Int) throws {
    let parts = parts(length: length)
    let pages = parts.flatMap(\.pages)
    func marks(_ kind: Held.Kind) -> [Mark] { pages.filter { $0.kind == kind }.flatMap(\.marks) }
    expect(marks(.staged) == staging.shared.withLock { $0.ledger.marks } && marks(.staged).count == 40)
    expect(marks(.present) == present.present && marks(.present).count == 40)
    expect(marks(.taken) == present.taken && marks(.taken).count == 41)
    expect(parts.flatMap(\.partials), is: staging.shared.withLock { $0.ledger.partials })
    expect(parts.flatMap(\.partials).count, is: 7)
    expect(parts.map(\.end).dropLast().allSatisfy { $0 == nil })
    expect(parts.last?.end, is: staging.held.counting(40))
    for part in parts { expect(self.length(part) <= length || part.pages.isEmpty && part.partials.count == 1) }
    if length == 1 << 20 { expect(parts.count, is: 1) }
  }

  @Test func `a sender reads the parts as one ledger`() throws {
    let parts = parts(length: 150)
    let kinds = parts.flatMap(\.pages).map(\.kind.rawValue)
    expect(kinds == kinds.sorted() && kinds.contains(3))
    // No incomplete file comes before the last mark.
    let last = try #require(parts.lastIndex { !$0.pages.isEmpty })
    expect(parts[..<last].allSatisfy { $0.partials.isEmpty })
  }

  @Test func `a sender with little room hears of all that is staged, and of as many existing items and names`() {
    let partials = staging.shared.withLock { $0.ledger.partials }
    let needed = partials.reduce(40) { $0 + $1.ledgerRoom }
    for (room, each) in [(needed + 21, 10), (needed, 0), (0, 0)] {
      let parts = parts(room: room)
      let pages = parts.flatMap(\.pages)
      func marks(_ kind: Held.Kind) -> [Mark] { pages.filter { $0.kind == kind }.flatMap(\.marks) }
      expect(marks(.staged).count == 40 && parts.flatMap(\.partials) == partials)
      expect(
        marks(.present) == Array(present.present.prefix(each)) && marks(.taken) == Array(present.taken.prefix(each)))
    }
  }

  @Test func `an empty ledger consists of its end`() throws {
    let empty = try Self(whole: 0, partial: 0)
    var reader = LedgerReader(empty.staging, present: PresentItems(), room: 0)
    let part = reader.next()
    expect(part.pages == [] && part.partials == [] && part.end == Tally())
  }
}

extension Tally {
  /// The same, with this many items.
  fileprivate func counting(_ items: UInt64) -> Tally { Tally(items: items, bytes: bytes) }
}
