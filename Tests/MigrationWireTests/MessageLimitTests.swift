import Expectations
import Testing

@testable import MigrationWire

/// Bodies that say something out of bounds.
@Suite struct MessageLimitTests {
  private var offer: [Field] {
    [(1, u16(0)), (2, u64(1)), (3, u64(2)), (4, u64(3)), (5, u32(0))]
  }

  @Test func `every field of an offer is required`() {
    for tag in 1...5 as ClosedRange<UInt8> { expect(code(.offer, changed(offer, tag, nil)), is: .field, "\(tag)") }
    expect(code(.offer, body(offer)) == nil)
    expect(code(.offer, changed(offer, 1, u16(.max))) == nil)
  }

  @Test(arguments: [2, 3, 4] as [UInt8])
  func `an offer's total is at most 2⁶³−1`(tag: UInt8) {
    expect(code(.offer, changed(offer, tag, u64(1 << 63 - 1))) == nil)
    expect(code(.offer, changed(offer, tag, u64(1 << 63))), is: .limit)
    expect(code(.offer, changed(offer, tag, u64(.max))), is: .limit)
  }

  @Test func `an acceptance has a key of 16 bytes, and perhaps traits`() {
    expect(code(.accept, body([(1, run(0, 16))])) == nil)
    expect(code(.accept, body([(1, run(0, 16)), (2, [])])) == nil)
    expect(code(.accept, body([(2, [])])), is: .field)
    expect(code(.accept, body([(1, run(0, 15))])), is: .truncated)
    expect(code(.accept, body([(1, run(0, 17))])), is: .trailing)
  }

  @Test func `a failure has the fields of CLOSE and its part`() {
    let fields: [Field] = [(1, u16(9)), (2, ascii("m")), (9, u16(4_095))]
    expect(code(.failed, body(fields)) == nil)
    for tag in [1, 9] as [UInt8] { expect(code(.failed, changed(fields, tag, nil)), is: .field) }
    expect(code(.failed, changed(fields, 2, [UInt8](repeating: 0x61, count: 1_025))), is: .limit)
    expect(code(.failed, changed(fields, 4, [UInt8](repeating: 0, count: 65_536))), is: .limit)
    expect(code(.failed, changed(fields, 9, [1])), is: .truncated)
  }

  @Test(arguments: [(FrameType.held, [1] as [UInt8]), (.drop, [])])
  func `marks ascend, are whole, and at least one`(type: FrameType, start: [UInt8]) {
    let (low, high) = (run(1, 16), run(2, 16))
    expect(code(type, start + low + high) == nil)
    expect(code(type, start), is: .truncated)
    expect(code(type, start + high + low), is: .value)
    expect(code(type, start + low + low), is: .value)
    expect(code(type, start + low + high.dropLast()), is: .truncated)
  }

  @Test func `a ledger's page is of kind 1 to 8`() {
    for kind in [0, 9, 255] as [UInt8] { expect(code(.held, [kind] + run(1, 16)), is: .unknown) }
  }

  @Test func `65,536 marks fit into a page and one more does not`() {
    var writer = ByteWriter()
    for mark in 0...65_536 as ClosedRange<UInt128> { writer.u128(mark) }
    let many = writer.bytes
    expect(code(.held, [2] + many.dropLast(16)) == nil)
    expect(code(.held, [2] + many), is: .limit)
    expect(code(.drop, Array(many.dropLast(16))) == nil)
    expect(code(.drop, many), is: .limit)
  }

  @Test(
    arguments: [
      ([], false), ([0, 1], true), ([0, 0], false), ([1, 0], false), ([0, 1, 1, 2], false), ([0, 1, 2, 3], true),
      ([2, 3, 0, 1], false), ([0, 2, 1, 3], false), ([0, .max], false), ([0, 1 << 63 - 1], true),
      ([0, 1 << 63], false),
      ([.max - 1, .max], false), ([1 << 63 - 2, 1 << 63 - 1], true), ([0], false), ([0, 1, 2], false),
    ] as [([UInt64], Bool)])
  func `ranges are half-open, not empty, ascending and apart`(bounds: [UInt64], isValid: Bool) {
    let fields: [Field] = [(1, ascii("a")), (2, run(0, 16)), (3, bounds.flatMap(u64))]
    expect((code(.partial, body(fields)) == nil), is: isValid)
  }

  @Test func `65,536 ranges of a file are taken and one more is not`() {
    let ranges = (0...65_536 as ClosedRange<UInt64>).flatMap { u64($0 * 2) + u64($0 * 2 + 1) }
    let fields: [Field] = [(1, ascii("a")), (2, run(0, 16))]
    expect(code(.partial, body(fields + [(3, Array(ranges.dropLast(16)))])) == nil)
    expect(code(.partial, body(fields + [(3, ranges)])), is: .limit)
  }

  @Test func `an incomplete file has a valid path`() {
    for name in ["", "..", "/a", "a/"] {
      expect(code(.partial, body([(1, ascii(name)), (2, run(0, 16)), (3, u64(0) + u64(1))])), is: .path)
    }
  }

  @Test func `greetings hold to their limits`() {
    let fields: [Field] = [(1, [2]), (2, ascii("l")), (3, ascii("s")), (4, u64(0))]
    for tag in 1...4 as ClosedRange<UInt8> { expect(code(.greeting, changed(fields, tag, nil)), is: .field) }
    expect(
      code(.greeting, changed(fields, 1, [0])) == .unknown && code(.greeting, changed(fields, 1, [3])) == .unknown)
    for (tag, limit) in [(2, 255), (3, 64)] as [(UInt8, Int)] {
      expect(code(.greeting, changed(fields, tag, [UInt8](repeating: 0x61, count: limit))) == nil)
      expect(code(.greeting, changed(fields, tag, [UInt8](repeating: 0x61, count: limit + 1))), is: .limit)
      expect(code(.greeting, changed(fields, tag, [0xFF])), is: .value)
    }
  }

  @Test func `only a receiver asks for an app`() {
    let request = body([(1, ascii("i")), (2, ascii("p"))])
    let fields: [Field] = [(1, [2]), (2, []), (3, []), (4, u64(0)), (5, request)]
    expect(code(.greeting, body(fields)) == nil)
    expect(code(.greeting, changed(fields, 1, [1])), is: .field)
  }

  @Test(
    arguments: [
      [], [0, 0], [1, 0x62, 0, 1, 0x61, 0], [1, 0x61, 0, 1, 0x61, 0], [1, 0xFF, 0], [1, 0x61, 1],
      [1, 0x61, 255, 255, 255, 255], [255], [1, 0x61], string([UInt8](repeating: 0x61, count: 256)) + [0],
    ] as [[UInt8]])
  func `options that are out of order or bounds are refused`(options: [UInt8]) {
    let request = body([(1, ascii("i")), (2, ascii("p")), (3, options)])
    expect(code(.greeting, body([(1, [2]), (2, []), (3, []), (4, u64(0)), (5, request)])) != nil)
  }

  @Test func `progress never passes its total`() {
    expect(code(.progress, [1] + u64(5) + u64(5)) == nil)
    expect(code(.progress, [1] + u64(6) + u64(5)), is: .value)
    // Also in a phase of a later version.
    for phase in [0, 4] as [UInt8] {
      expect(code(.progress, [phase] + u64(5) + u64(5)) == nil && code(.progress, [phase] + u64(6) + u64(5)) == .value)
    }
    expect(code(.progress, [1] + u64(5) + u64(5) + [0]), is: .trailing)
  }

  @Test func `losses ascend, and may be of a later version`() {
    let done: [Field] = [(1, u64(0)), (2, u64(0))]
    for (losses, isValid) in [
      ([1] + u64(1) + [8] + u64(0), true), ([], false), ([8] + u64(1) + [1] + u64(1), false),
      ([1] + u64(1) + [1] + u64(1), false), ([0] + u64(1), true), ([1] + u64(1) + [9] + u64(1), true), ([1, 0], false),
    ] as [([UInt8], Bool)] {
      expect((code(.done, body(done + [(3, losses)])) == nil), is: isValid, "\(losses)")
    }
  }

  @Test func `items under other names ascend, are within the limits, and no more than are counted`() {
    func names(_ paths: [[UInt8]]) -> [UInt8] { paths.flatMap { string($0) + string(ascii("b")) } }
    func codeOf(_ count: UInt64, _ list: [UInt8]) -> Violation.Code? {
      code(.done, body([(1, u64(0)), (2, u64(0)), (5, u64(count)), (6, list)]))
    }
    expect(codeOf(2, names([ascii("a"), ascii("c")])) == nil)
    expect(codeOf(1, names([ascii("a"), ascii("c")])), is: .value)
    expect(codeOf(2, names([ascii("c"), ascii("a")])), is: .value)
    expect(codeOf(2, names([ascii("a"), ascii("a")])), is: .value)
    expect(codeOf(1, names([ascii("../a")])) != nil && codeOf(1, names([[]])) != nil && codeOf(1, []) != nil)
    expect(codeOf(0, names([ascii("a")])), is: .value)
    let long = (0..<300).map { ascii("\(1000 + $0)") + [UInt8](repeating: 0x61, count: 214) }
    expect(codeOf(300, names(Array(long.prefix(299)))) == nil && codeOf(300, names(long)) == .limit)
    // A receiver that has more names than fit.
    let items = (0..<2_000).map { RenamedItem(path: path("\(1_000 + $0)"), target: path("x")) }
    expect(Done(total: Tally(), renamed: items).renamedItems.count, is: Limits.renamed)
    expect(Done(total: Tally(), renamed: items).renamed, is: 2_000)
  }

  @Test func `an item that is not stored has a path and a reason, also of a later version`() {
    let fields: [Field] = [(1, ascii("../x")), (2, [1])]
    expect(code(.notStored, body(fields)) == nil && code(.notStored, changed(fields, 2, [200])) == nil)
    expect(
      code(.notStored, changed(fields, 2, [0])) == .value && code(.notStored, changed(fields, 2, [])) == .truncated)
    expect(code(.notStored, changed(fields, 1, [UInt8](repeating: 1, count: 65_535))) == nil)
    expect(code(.notStored, changed(fields, 1, [UInt8](repeating: 1, count: 65_536))), is: .limit)
    expect(code(.notStored, changed(fields, 1, [])) == .value && code(.notStored, changed(fields, 1, nil)) == .field)
    expect(
      code(.notStored, body(fields + [(4, [0, 13])])) == nil
        && code(.notStored, body(fields + [(4, [0, 0])])) == .value)
  }

  @Test func `a state that is not stored has a path of the archive, and the receiver's reason`() {
    let fields: [Field] = [(1, ascii("d/a:b")), (2, [16]), (3, [UInt8](repeating: 1, count: 16))]
    expect(code(.notStored, body(fields)) == nil && code(.notStored, changed(fields, 2, [200])) == nil)
    expect(code(.notStored, changed(fields, 1, ascii("../x"))), is: .path)
    expect(code(.notStored, changed(fields, 2, [15])), is: .field)
  }

  @Test func `a reason says whose decision it is, also one of a later version`() {
    func party(_ reason: UInt8) -> NotStored.Party { NotStored.Reason(rawValue: reason).party }
    expect((1...15).allSatisfy { party($0) == .sender } && (32...47).allSatisfy { party($0) == .user })
    expect((16...31).allSatisfy { party($0) == .receiver } && party(48) == .receiver)
    expect(NotStored.Reason(rawValue: 30).words, is: NotStored.Reason.other.words)
    expect(NotStored.Reason(rawValue: 15).words, is: "could not be sent")
  }

  @Test func `attributes that are left behind ascend, and are few`() {
    func list(_ names: [String]) -> [UInt8] { names.flatMap { string(ascii($0)) + u64(1) } }
    let fields: [Field] = [
      (1, [UInt8](repeating: 0, count: 8)), (2, [UInt8](repeating: 0, count: 8)), (3, [UInt8](repeating: 0, count: 8)),
      (4, [UInt8](repeating: 0, count: 16)),
    ]
    expect(code(.finish, body(fields + [(8, list(["a", "b"]))])) == nil)
    expect(code(.finish, body(fields + [(8, list(["b", "a"]))])), is: .value)
    expect(code(.finish, body(fields + [(8, list([""]))])), is: .value)
    expect(code(.finish, body(fields + [(8, list([String(repeating: "n", count: 256)]))])), is: .value)
    let names = (100..<165).map { "n\($0)" }
    expect(code(.finish, body(fields + [(8, list(Array(names.prefix(64))))])) == nil)
    expect(code(.finish, body(fields + [(8, list(names))])), is: .limit)
  }

  @Test func `closing texts and names have limits`() {
    let fields: [Field] = [(1, [0, 2]), (2, ascii("m"))]
    expect(code(.close, changed(fields, 2, [UInt8](repeating: 0x61, count: 1_024))) == nil)
    expect(code(.close, changed(fields, 2, [UInt8](repeating: 0x61, count: 1_025))), is: .limit)
    expect(code(.close, changed(fields, 2, [0xFF])) == .value && code(.close, changed(fields, 2, [])) == .value)
    expect(code(.close, changed(fields, 2, nil)) == nil)
    for tag in [3, 10] as [UInt8] {
      expect(
        code(.close, changed(fields, tag, [1, 0])) == nil && code(.close, changed(fields, tag, [0, 0])) == .value)
    }
    expect(code(.close, changed(fields, 4, [UInt8](repeating: 0, count: 65_535))) == nil)
    expect(code(.close, changed(fields, 4, [UInt8](repeating: 0, count: 65_536))), is: .limit)
    for tag in 5...8 as ClosedRange<UInt8> {
      expect(code(.close, changed(fields, tag, u64(1))) == nil)
      expect(code(.close, changed(fields, tag, [1])), is: .truncated)
    }
  }

  @Test func `a long text of our own is cut between characters`() throws {
    let close = Close(.violation, String(repeating: "ä", count: 600))
    expect(close.message, is: String(repeating: "ä", count: 512))
    let whole = Close(.violation, String(repeating: "👩‍👩‍👧", count: 100)).message
    expect(whole.utf8.count <= 1_024 && whole.allSatisfy { $0 == "👩‍👩‍👧" })
    let frame = ControlMessage.close(close).frame
    expect(try Frame(frame), is: .control(.close(close)))
  }

  @Test func `a violation is told with its code`() {
    expect(Close(Violation(.announcement, "x")).code, is: .announcement)
    expect(Close(Violation(.state, "x")).code, is: .violation)
  }

  @Test func `the bounds of an offer do not overflow`() {
    let most = Offer(
      contents: .folders([]), items: Limits.fileSize, bytes: Limits.fileSize, allocated: 0, flags: [])
    expect(
      most.bound,
      is: Bound(
        items: (1 << 63 - 1) + (1 << 61 - 1) + 1_024, bytes: Limits.fileSize,
        metadata: (1 << 63 - 1) + (1 << 61 - 1) + 16_777_216))
    let few = Offer(contents: .folders([]), items: 7, bytes: 9, allocated: 0, flags: [])
    expect(
      few.bound, is: Bound(items: 8 + 1_024, bytes: 11 + 67_108_864, metadata: 7 * 262_144 * 5 / 4 + 16_777_216))
  }

  @Test func `an estimate bounds the bytes of folders, and an app's export only in everything else`() {
    let app = AppIdentity(bundleIdentifier: "a", store: "", platform: "", version: "")
    let bound = { (contents: Offer.Contents) in
      Offer(contents: contents, items: 10, bytes: 1, allocated: 1, flags: .estimated).bound
    }
    let folders = bound(.folders([]))
    expect(folders.bytes, is: 1 + 1_073_741_824)
    expect(
      bound(.app(app)),
      is: Bound(
        items: folders.items, bytes: Limits.fileSize, metadata: folders.metadata, metadataPerItem: 262_144))
    expect(folders.items, is: 15 + 1_048_576)
  }

  @Test func `an acknowledgement is never durable before it is written`() {
    let frame = { (written: UInt64, durable: UInt64) in
      try Frame([0x32, 0, 0, 0, 16] + u64(written) + u64(durable))
    }
    #expect(throws: Violation.self) { try frame(5, 6) }
    #expect(throws: Never.self) { try frame(.max, .max) }
  }

  @Test(arguments: [
    (0, 1, true), (0, 1_310_000, true), (0, 1_310_001, false), (0, 0, false), (2, 1, false), (255, 1, false),
    (1, 1_310_000, true), (1, 1_310_001, false), (1, 0, false), (1, Int(UInt32.max), false),
  ])
  func `a data frame's encoding and plain length are bounded`(encoding: UInt8, length: Int, isValid: Bool) {
    var writer = ByteWriter()
    writer.u64(0)
    writer.u8(encoding)
    writer.u32(UInt32(length))
    let payload = encoding == 0 ? min(length, 1_310_001) : 9
    writer.array([UInt8](repeating: 0, count: payload))
    let body = writer.bytes
    expect((violation { () throws(Violation) in _ = try DataHeader(body.span, 0..<body.count) } == nil), is: isValid)
  }

  @Test func `a plain payload is as long as it says`() {
    for length in [1, 2, 4, 5] as [UInt8] {
      let body = [UInt8](repeating: 0, count: 12) + [length, 1, 2, 3]
      #expect(throws: Violation.self) { try DataHeader(body.span, 0..<body.count) }
    }
  }
}
