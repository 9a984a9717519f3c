import Testing

@testable import MigrationWire

/// Bodies that say something out of bounds.
@Suite struct MessageLimitTests {
  private typealias Field = (UInt8, [UInt8])

  /// A body of fields; their order is not checked here.
  private func body(_ fields: [Field]) -> [UInt8] {
    var writer = ByteWriter()
    for (tag, value) in fields {
      writer.u8(tag)
      writer.varint(UInt64(value.count))
      writer.array(value)
    }
    return writer.bytes
  }

  /// The fields with one replaced, added or, where nil, left out.
  private func changed(_ fields: [Field], _ tag: UInt8, _ value: [UInt8]?) -> [UInt8] {
    let rest = fields.filter { $0.0 != tag } + (value.map { [(tag, $0)] } ?? [])
    return body(rest.sorted { $0.0 < $1.0 })
  }

  private func read(_ type: FrameType, _ body: [UInt8]) throws(Violation) -> ControlMessage? {
    try ControlMessage(type, body.span, 0..<body.count)
  }

  private func code(_ type: FrameType, _ body: [UInt8]) -> Violation.Code? {
    violation { () throws(Violation) in _ = try read(type, body) }
  }

  private func u16(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(truncatingIfNeeded: value)] }
  private func u64(_ value: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - $0 * 8)) } }

  private var offer: [Field] {
    [(2, [1]), (3, [1, 1, 0x61]), (4, u64(1)), (5, u64(2)), (6, u64(3)), (8, [0, 0, 0, 0])]
  }

  private var appOffer: [Field] {
    let app = body([(1, ascii("i")), (2, ascii("s")), (3, ascii("p")), (4, ascii("v"))])
    return [(2, [2]), (4, u64(1)), (5, u64(2)), (6, u64(3)), (7, app), (8, [0, 0, 0, 0])]
  }

  private var accept: [Field] {
    [
      (1, run(0, 16)), (2, run(0, 16)), (3, run(0, 16)), (4, u64(2_621_440)), (5, u16(1)), (6, u64(0)),
    ]
  }

  @Test func `every field of an offer except the transfer is required`() {
    for tag in [2, 3, 4, 5, 6, 8] as [UInt8] { #expect(code(.offer, changed(offer, tag, nil)) == .field, "\(tag)") }
    for tag in [2, 4, 5, 6, 7, 8] as [UInt8] { #expect(code(.offer, changed(appOffer, tag, nil)) == .field, "\(tag)") }
    #expect(code(.offer, body(offer)) == nil && code(.offer, body(appOffer)) == nil)
    #expect(code(.offer, changed(offer, 1, run(0, 16))) == nil)
  }

  @Test func `an offer is of folders or of an app, not of both`() {
    let app = appOffer.first { $0.0 == 7 }!.1
    #expect(code(.offer, changed(offer, 7, app)) == .field)
    #expect(code(.offer, changed(appOffer, 3, [1, 1, 0x61])) == .field)
    #expect(code(.offer, changed(offer, 2, [3])) == .unknown)
    #expect(code(.offer, changed(offer, 2, [0])) == .unknown)
  }

  @Test func `an app is named in full`() {
    let parts: [Field] = [(1, ascii("i")), (2, ascii("s")), (3, ascii("p")), (4, ascii("v"))]
    for tag in 1...4 as ClosedRange<UInt8> {
      #expect(code(.offer, changed(appOffer, 7, changed(parts, tag, nil))) == .field)
      let long = [UInt8](repeating: 0x61, count: 1_025)
      #expect(code(.offer, changed(appOffer, 7, changed(parts, tag, Array(long.dropFirst())))) == nil)
      #expect(code(.offer, changed(appOffer, 7, changed(parts, tag, long))) == .limit)
    }
  }

  @Test(arguments: [4, 5, 6] as [UInt8])
  func `an offer's total is at most 2⁶³−1`(tag: UInt8) {
    #expect(code(.offer, changed(offer, tag, u64(1 << 63 - 1))) == nil)
    #expect(code(.offer, changed(offer, tag, u64(1 << 63))) == .limit)
    #expect(code(.offer, changed(offer, tag, u64(.max))) == .limit)
  }

  @Test(
    arguments: [
      [], [1, 0], [1, 1], [1, 2, 0x61], [0, 1, 0x61], [5, 1, 0x61], [1, 1, 0x2E], [1, 2, 0x2E, 0x2E], [1, 1, 0],
      [1, 1, 0x2F],
      [1, 3, 0x61, 0x2F, 0x62], [1, 1, 0x62, 1, 1, 0x61], [1, 1, 0x61, 2, 1, 0x61], [1, 2, 0x61, 0x61, 1, 1, 0x61],
    ] as [[UInt8]])
  func `roots that are no roots, or not in order, are refused`(roots: [UInt8]) {
    #expect(code(.offer, changed(offer, 3, roots)) != nil)
  }

  @Test func `a root may be of each kind`() {
    for kind in 1...4 as ClosedRange<UInt8> { #expect(code(.offer, changed(offer, 3, [kind, 1, 0x61])) == nil) }
  }

  @Test func `65,536 roots are taken and one more is not`() throws {
    var roots: [UInt8] = []
    for index in 0..<65_536 as Range<UInt32> {
      roots += [1, 4] + (0..<4).map { 0x61 + UInt8(truncatingIfNeeded: index >> (12 - $0 * 4)) & 0x0F }
    }
    guard case .offer(let offer)? = try read(.offer, changed(self.offer, 3, roots)),
      case .folders(let list) = offer.contents
    else {
      Issue.record("no offer of folders")
      return
    }
    #expect(list.count == 65_536)
    #expect(code(.offer, changed(self.offer, 3, roots + [1, 1, 0x7A])) == .limit)
  }

  @Test func `an acceptance has every field`() {
    for tag in 1...6 as ClosedRange<UInt8> { #expect(code(.accept, changed(accept, tag, nil)) == .field) }
    #expect(code(.accept, body(accept)) == nil)
  }

  @Test(arguments: [0, 1, 2_621_439] as [UInt64])
  func `a window below two frames is refused`(window: UInt64) {
    #expect(code(.accept, changed(accept, 4, u64(window))) == .value)
  }

  @Test func `one to 64 streams may be accepted`() {
    for count in [0, 65, 256, .max] as [UInt16] { #expect(code(.accept, changed(accept, 5, u16(count))) == .value) }
    for count in [1, 2, 64] as [UInt16] { #expect(code(.accept, changed(accept, 5, u16(count))) == nil) }
  }

  @Test func `identifiers and keys are exactly 16 bytes`() {
    for tag in 1...3 as ClosedRange<UInt8> {
      #expect(code(.accept, changed(accept, tag, run(0, 15))) == .truncated)
      #expect(code(.accept, changed(accept, tag, run(0, 17))) == .trailing)
    }
  }

  @Test(arguments: [(FrameType.held, [1] as [UInt8]), (.drop, [])])
  func `marks ascend, are whole, and at least one`(type: FrameType, start: [UInt8]) {
    let (low, high) = (run(1, 16), run(2, 16))
    #expect(code(type, start + low + high) == nil)
    #expect(code(type, start) == .truncated)
    #expect(code(type, start + high + low) == .value)
    #expect(code(type, start + low + low) == .value)
    #expect(code(type, start + low + high.dropLast()) == .truncated)
  }

  @Test func `a ledger's page is of kind 1 to 3`() {
    for kind in [0, 4, 255] as [UInt8] { #expect(code(.held, [kind] + run(1, 16)) == .unknown) }
  }

  @Test func `65,536 marks fit into a page and one more does not`() {
    var writer = ByteWriter()
    for mark in 0...65_536 as ClosedRange<UInt128> { writer.u128(mark) }
    let many = writer.bytes
    #expect(code(.held, [2] + many.dropLast(16)) == nil)
    #expect(code(.held, [2] + many) == .limit)
    #expect(code(.drop, Array(many.dropLast(16))) == nil)
    #expect(code(.drop, many) == .limit)
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
    #expect((code(.partial, body(fields)) == nil) == isValid)
  }

  @Test func `65,536 ranges of a file are taken and one more is not`() {
    let ranges = (0...65_536 as ClosedRange<UInt64>).flatMap { u64($0 * 2) + u64($0 * 2 + 1) }
    let fields: [Field] = [(1, ascii("a")), (2, run(0, 16))]
    #expect(code(.partial, body(fields + [(3, Array(ranges.dropLast(16)))])) == nil)
    #expect(code(.partial, body(fields + [(3, ranges)])) == .limit)
  }

  @Test func `an incomplete file has a valid path`() {
    for name in ["", "..", "/a", "a/"] {
      #expect(code(.partial, body([(1, ascii(name)), (2, run(0, 16)), (3, u64(0) + u64(1))])) == .path)
    }
  }

  @Test func `greetings hold to their limits`() {
    let fields: [Field] = [(1, [2]), (2, ascii("l")), (3, ascii("s")), (4, u64(0))]
    for tag in 1...4 as ClosedRange<UInt8> { #expect(code(.greeting, changed(fields, tag, nil)) == .field) }
    #expect(
      code(.greeting, changed(fields, 1, [0])) == .unknown && code(.greeting, changed(fields, 1, [3])) == .unknown)
    for (tag, limit) in [(2, 255), (3, 64)] as [(UInt8, Int)] {
      #expect(code(.greeting, changed(fields, tag, [UInt8](repeating: 0x61, count: limit))) == nil)
      #expect(code(.greeting, changed(fields, tag, [UInt8](repeating: 0x61, count: limit + 1))) == .limit)
      #expect(code(.greeting, changed(fields, tag, [0xFF])) == .value)
    }
  }

  @Test func `only a receiver asks for an app`() {
    let request = body([(1, ascii("i")), (2, ascii("p"))])
    let fields: [Field] = [(1, [2]), (2, []), (3, []), (4, u64(0)), (5, request)]
    #expect(code(.greeting, body(fields)) == nil)
    #expect(code(.greeting, changed(fields, 1, [1])) == .field)
  }

  @Test(
    arguments: [
      [], [0, 0, 0, 0, 0], [1, 0x62, 0, 0, 0, 0, 1, 0x61, 0, 0, 0, 0], [1, 0x61, 0, 0, 0, 0, 1, 0x61, 0, 0, 0, 0],
      [1, 0xFF, 0, 0, 0, 0], [1, 0x61, 0, 0, 0, 1], [1, 0x61, 255, 255, 255, 255], [255], [1, 0x61, 0, 0, 0],
    ] as [[UInt8]])
  func `options that are out of order or bounds are refused`(options: [UInt8]) {
    let request = body([(1, ascii("i")), (2, ascii("p")), (3, options)])
    #expect(code(.greeting, body([(1, [2]), (2, []), (3, []), (4, u64(0)), (5, request)])) != nil)
  }

  @Test func `progress never passes its total`() {
    #expect(code(.progress, [1] + u64(5) + u64(5)) == nil)
    #expect(code(.progress, [1] + u64(6) + u64(5)) == .value)
    #expect(code(.progress, [0] + u64(5) + u64(5)) == .unknown && code(.progress, [4] + u64(5) + u64(5)) == .unknown)
    #expect(code(.progress, [1] + u64(5) + u64(5) + [0]) == .trailing)
  }

  @Test func `losses ascend and are known`() {
    let done: [Field] = [(1, u64(0)), (2, u64(0))]
    for (losses, isValid) in [
      ([1] + u64(1) + [8] + u64(0), true), ([], false), ([8] + u64(1) + [1] + u64(1), false),
      ([1] + u64(1) + [1] + u64(1), false), ([0] + u64(1), false), ([9] + u64(1), false), ([1, 0], false),
    ] as [([UInt8], Bool)] {
      #expect((code(.done, body(done + [(3, losses)])) == nil) == isValid, "\(losses)")
    }
  }

  @Test func `an unsent item has a known reason and short texts`() {
    let fields: [Field] = [(1, ascii("../x")), (2, [1])]
    #expect(code(.unsent, body(fields)) == nil)
    #expect(code(.unsent, changed(fields, 2, [0])) == .unknown && code(.unsent, changed(fields, 2, [8])) == .unknown)
    // Only reason 7 has the trait that the destination lacks.
    #expect(code(.unsent, changed(fields, 2, [7])) == .field && code(.unsent, body(fields + [(4, [1])])) == .field)
    #expect(code(.unsent, body([fields[0], (2, [7]), (4, [9])])) == nil)
    #expect(code(.unsent, body([fields[0], (2, [7]), (4, [10])])) == .unknown)
    #expect(code(.unsent, changed(fields, 1, [UInt8](repeating: 1, count: 65_535))) == nil)
    #expect(code(.unsent, changed(fields, 1, [UInt8](repeating: 1, count: 65_536))) == .limit)
    #expect(code(.unsent, changed(fields, 3, [UInt8](repeating: 0x61, count: 1_024))) == nil)
    #expect(code(.unsent, changed(fields, 3, [UInt8](repeating: 0x61, count: 1_025))) == .limit)
  }

  @Test func `an item that is not stored has a path, a known reason and a short message`() {
    let fields: [Field] = [(1, ascii("d/a:b")), (2, [UInt8](repeating: 1, count: 16)), (3, [1])]
    #expect(code(.refused, body(fields)) == nil)
    #expect(code(.refused, changed(fields, 1, ascii("../x"))) != nil)
    #expect(code(.refused, changed(fields, 3, [0])) == .unknown && code(.refused, changed(fields, 3, [10])) == .unknown)
    #expect(code(.refused, changed(fields, 4, [UInt8](repeating: 0x61, count: 1_024))) == nil)
    #expect(code(.refused, changed(fields, 4, [UInt8](repeating: 0x61, count: 1_025))) == .limit)
  }

  @Test func `attributes that are left behind ascend, and are few`() {
    func list(_ names: [String]) -> [UInt8] {
      names.flatMap { [UInt8($0.utf8.count)] + ascii($0) + [0, 0, 0, 0, 0, 0, 0, 1] }
    }
    let fields: [Field] = [
      (1, [UInt8](repeating: 0, count: 8)), (2, [UInt8](repeating: 0, count: 8)), (3, [UInt8](repeating: 0, count: 8)),
      (4, [UInt8](repeating: 0, count: 16)),
    ]
    #expect(code(.finish, body(fields + [(8, list(["a", "b"]))])) == nil)
    #expect(code(.finish, body(fields + [(8, list(["b", "a"]))])) == .value)
    #expect(code(.finish, body(fields + [(8, list([""]))])) == .value)
    let names = (100..<165).map { "n\($0)" }
    #expect(code(.finish, body(fields + [(8, list(Array(names.prefix(64))))])) == nil)
    #expect(code(.finish, body(fields + [(8, list(names))])) == .limit)
    #expect(code(.finish, body(fields + [(7, [UInt8](repeating: 0, count: 8))])) == .value)
  }

  @Test func `closing texts and names have limits`() {
    let fields: [Field] = [(1, [0, 2]), (2, ascii("m"))]
    for tag in [2, 3] as [UInt8] {
      #expect(code(.close, changed(fields, tag, [UInt8](repeating: 0x61, count: 1_024))) == nil)
      #expect(code(.close, changed(fields, tag, [UInt8](repeating: 0x61, count: 1_025))) == .limit)
      #expect(code(.close, changed(fields, tag, [0xFF])) == .value)
    }
    #expect(code(.close, changed(fields, 4, [UInt8](repeating: 0, count: 65_535))) == nil)
    #expect(code(.close, changed(fields, 4, [UInt8](repeating: 0, count: 65_536))) == .limit)
    for tag in 5...8 as ClosedRange<UInt8> {
      #expect(code(.close, changed(fields, tag, u64(1))) == nil)
      #expect(code(.close, changed(fields, tag, [1])) == .truncated)
    }
  }

  @Test func `a long text of our own is cut between characters`() throws {
    let close = Close(.violation, String(repeating: "ä", count: 600), hint: String(repeating: "👩‍👩‍👧", count: 100))
    #expect(close.message == String(repeating: "ä", count: 512))
    #expect(close.hint!.utf8.count <= 1_024 && close.hint!.allSatisfy { $0 == "👩‍👩‍👧" })
    let frame = ControlMessage.close(close).frame
    #expect(try Frame(frame) == .control(.close(close)))
  }

  @Test func `a violation is told with its code`() {
    #expect(Close(Violation(.announcement, "x")).code == .announcement)
    #expect(Close(Violation(.state, "x")).code == .violation)
  }

  @Test func `the bounds of an offer do not overflow`() {
    let most = Offer(
      transfer: nil, contents: .folders([]), items: Limits.fileSize, bytes: Limits.fileSize, allocated: 0, flags: [])
    #expect(
      most.bound
        == Bound(
          items: (1 << 63 - 1) + (1 << 61 - 1) + 1_024, bytes: Limits.fileSize,
          metadata: (1 << 63 - 1) + (1 << 61 - 1) + 16_777_216))
    let few = Offer(transfer: nil, contents: .folders([]), items: 7, bytes: 9, allocated: 0, flags: [])
    #expect(
      few.bound == Bound(items: 8 + 1_024, bytes: 11 + 67_108_864, metadata: 7 * 262_144 * 5 / 4 + 16_777_216))
  }

  @Test func `an estimate bounds the bytes of folders, and an app's export only in everything else`() {
    let app = AppIdentity(bundleIdentifier: "a", store: "", platform: "", version: "")
    let bound = { (contents: Offer.Contents) in
      Offer(transfer: nil, contents: contents, items: 10, bytes: 1, allocated: 1, flags: .estimated).bound
    }
    let folders = bound(.folders([]))
    #expect(folders.bytes == 1 + 1_073_741_824)
    #expect(
      bound(.app(app))
        == Bound(
          items: folders.items, bytes: Limits.fileSize, metadata: folders.metadata, metadataPerItem: 262_144))
    #expect(folders.items == 15 + 1_048_576)
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
    #expect((violation { () throws(Violation) in _ = try DataHeader(body.span, 0..<body.count) } == nil) == isValid)
  }

  @Test func `a plain payload is as long as it says`() {
    for length in [1, 2, 4, 5] as [UInt8] {
      let body = [UInt8](repeating: 0, count: 12) + [length, 1, 2, 3]
      #expect(throws: Violation.self) { try DataHeader(body.span, 0..<body.count) }
    }
  }
}
