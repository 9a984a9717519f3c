import Expectations
import Testing

@testable import MigrationWire

/// PLAN and VERDICT: their limits, and what one says about the other.
@Suite struct PlanTests {
  private let folders: [Field] = [(1, [1]), (3, ascii("d")), (4, [1, 1, 0x61]), (8, u64(1))]
  private let files: [Field] = [(1, [3]), (2, ascii("i")), (3, ascii("n")), (4, [1, 1, 0x61]), (8, u64(1))]
  private let identity: [Field] = [(1, ascii("s")), (2, ascii("p")), (3, ascii("v"))]
  private var app: [Field] { [(1, [2]), (2, ascii("i")), (3, ascii("n")), (5, body(identity)), (8, u64(1))] }
  private let later: [Field] = [(1, [200]), (3, ascii("n")), (8, u64(1))]

  private func list(_ elements: [[UInt8]]) -> [UInt8] { elements.flatMap(string) }

  private func plan(_ parts: [[UInt8]], _ others: [Field] = []) -> [UInt8] {
    body([(2, list(parts)), (3, u32(0))] + others)
  }

  private func code(ofPart part: [UInt8]) -> Violation.Code? { code(.plan, plan([part])) }

  private func code(_ type: FrameType, _ body: [UInt8]) -> Violation.Code? { MigrationWireTests.code(type, body) }

  private func root(_ name: [UInt8], kind: UInt8 = 1) -> [UInt8] { [kind] + string(name) }

  @Test func `a part has its kind's fields, and no other kind's`() {
    for part in [folders, files, app, later] { expect(code(ofPart: body(part)) == nil) }
    for tag in [1, 3, 4, 8] as [UInt8] { expect(code(ofPart: changed(folders, tag, nil)), is: .field) }
    for tag in [1, 2, 3, 4, 8] as [UInt8] { expect(code(ofPart: changed(files, tag, nil)), is: .field) }
    for tag in [1, 2, 3, 5, 8] as [UInt8] { expect(code(ofPart: changed(app, tag, nil)), is: .field) }
    for tag in [1, 3] as [UInt8] { expect(code(ofPart: changed(later, tag, nil)), is: .field) }
    for part in [folders, files, app] {
      expect(code(ofPart: changed(part, 8, u64(1) + u64(2))), is: .field)
      expect(code(ofPart: changed(part, 8, [])) == .value && code(ofPart: changed(part, 8, [1])) == .truncated)
    }
    expect(code(ofPart: changed(app, 4, [1, 1, 0x61])), is: .field)
    expect(code(ofPart: changed(folders, 5, body(identity))), is: .field)
    expect(code(ofPart: changed(files, 5, body(identity))), is: .field)
    // With an identifier they are folders of a role.
    expect(code(ofPart: changed(folders, 2, ascii("home"))) == nil)
  }

  @Test func `a part of unknown kind has any of the fields, in their forms`() throws {
    let all: [Field] = later + [(2, ascii("x")), (4, root(ascii("A/b"))), (5, body(identity))]
    expect(code(ofPart: changed(all, 9, nil)) == nil)
    expect(code(ofPart: changed(all, 2, [])), is: .value)
    expect(code(ofPart: changed(all, 4, root([0x62]) + root([0x61]))), is: .value)
    expect(code(ofPart: changed(all, 4, root([0x61], kind: 5))), is: .unknown)
    expect(code(ofPart: changed(all, 4, root([UInt8](repeating: 0x61, count: 256)))), is: .value)
    expect(code(ofPart: changed(all, 5, body([(1, ascii("s"))]))), is: .field)
    guard case .plan(let plan)? = try read(.plan, plan([changed(all, 9, nil)])) else {
      Issue.record("no plan")
      return
    }
    expect(plan.parts[0].roots, is: [Root(kind: .directory, name: ascii("A/b"))])
  }

  @Test(arguments: [6, 7] as [UInt8])
  func `an estimate is at most 2⁶³−1`(tag: UInt8) {
    expect(code(ofPart: changed(folders, tag, u64(1 << 63 - 1))) == nil)
    expect(code(ofPart: changed(folders, tag, u64(1 << 63))), is: .limit)
  }

  @Test func `a name and an identifier have 1 to 255 bytes`() {
    for tag in [2, 3] as [UInt8] {
      expect(code(ofPart: changed(app, tag, [])), is: .value)
      expect(code(ofPart: changed(app, tag, [UInt8](repeating: 0x61, count: 255))) == nil)
      expect(code(ofPart: changed(app, tag, [UInt8](repeating: 0x61, count: 256))), is: .limit)
      expect(code(ofPart: changed(app, tag, [0xFF])), is: .value)
    }
  }

  @Test func `an app is named in full`() {
    for tag in 1...3 as ClosedRange<UInt8> {
      let long = [UInt8](repeating: 0x61, count: 1_025)
      expect(code(ofPart: changed(app, 5, changed(identity, tag, nil))), is: .field)
      expect(code(ofPart: changed(app, 5, changed(identity, tag, Array(long.dropFirst())))) == nil)
      expect(code(ofPart: changed(app, 5, changed(identity, tag, long))), is: .limit)
    }
  }

  @Test(
    arguments: [
      [], [1, 0], [1, 1], [1, 2, 0x61], [0, 1, 0x61], [5, 1, 0x61], [1, 1, 0x2E], [1, 2, 0x2E, 0x2E], [1, 1, 0],
      [1, 1, 0x2F],
      [1, 3, 0x61, 0x2F, 0x62], [1, 1, 0x62, 1, 1, 0x61], [1, 1, 0x61, 2, 1, 0x61], [1, 2, 0x61, 0x61, 1, 1, 0x61],
    ] as [[UInt8]])
  func `roots that are no roots, or not in order, are refused`(roots: [UInt8]) {
    expect(code(ofPart: changed(folders, 4, roots)) != nil)
    expect(code(ofPart: changed(files, 4, roots)) != nil)
  }

  @Test func `a root may be of each kind`() {
    for kind in 1...4 as ClosedRange<UInt8> { expect(code(ofPart: changed(folders, 4, [kind, 1, 0x61])) == nil) }
  }

  @Test(arguments: [
    ("a", true), ("config", true), ("a-1-", true), (String(repeating: "k", count: 64), true),
    (String(repeating: "k", count: 65), false), ("Config", false), ("cOnfig", false), ("1a", false), ("-a", false),
    ("a_b", false), ("a.b", false), ("ä", false), (".", false),
  ])
  func `the roots of a part with an identifier are keys`(key: String, isKey: Bool) {
    expect((code(ofPart: changed(files, 4, root(ascii(key)))) == nil), is: isKey)
    let role: [Field] = folders + [(2, ascii("home"))]
    expect((code(ofPart: changed(role, 4, root(ascii(key)))) == nil), is: isKey)
  }

  @Test func `folders and apps of files have paths of a home, by ascending keys`() {
    func path(_ key: String, _ path: [UInt8]) -> [UInt8] { string(ascii(key)) + string(path) }
    let home = path("home", ascii("/home/anna"))
    for part in [files, folders, later] {
      expect(code(ofPart: changed(part, 10, home + path("music", ascii("/")))) == nil)
    }
    expect(code(ofPart: changed(app, 10, home)), is: .field)
    for wrong in [
      [], path("home", []), path("home", ascii("home")), path("home", [0x2F, 0]), path("Home", [0x2F]),
      path("", [0x2F]),
      home + home, path("music", [0x2F]) + home,
    ] {
      expect(code(ofPart: changed(files, 10, wrong)), is: .value)
    }
    expect(code(ofPart: changed(files, 10, home.dropLast())), is: .truncated)
    let longest = [0x2F] + [UInt8](repeating: 0x61, count: 1_023)
    expect(code(ofPart: changed(files, 10, path("home", longest))) == nil)
    expect(code(ofPart: changed(files, 10, path("home", longest + [0x61]))), is: .value)
    let keys = (0..<17).map { path("k\($0 + 10)", [0x2F]) }
    expect(code(ofPart: changed(files, 10, Array(keys.dropLast().joined()))) == nil)
    expect(code(ofPart: changed(files, 10, Array(keys.joined()))), is: .limit)
  }

  @Test func `a plan has 1 to 4,096 parts`() {
    let parts = [[UInt8]](repeating: body(later), count: 4_097)
    expect(code(.plan, plan([])) == .value && code(.plan, body([(3, u32(0))])) == .field)
    expect(code(.plan, plan(Array(parts.dropFirst()))) == nil)
    expect(code(.plan, plan(parts)), is: .limit)
    expect(code(.plan, body([(2, list([body(folders)]))])), is: .field)
    expect(code(.plan, body([(2, list([body(folders)]).dropLast()), (3, u32(0))])), is: .truncated)
  }

  @Test func `all parts together have 65,536 roots, also those of unknown kinds`() throws {
    let roots = (0..<32_768 as Range<UInt32>).map { index in
      root((0..<4).map { 0x61 + UInt8(truncatingIfNeeded: index >> (12 - $0 * 4)) & 0x0F })
    }
    let (all, part) = (Array(roots.joined()), later)
    let sources = [UInt8](repeating: 0, count: 32_768 * 8)
    let (one, other) = (changed(folders.dropLast() + [(8, sources)], 4, all), changed(part, 4, all))
    guard case .plan(let plan)? = try read(.plan, plan([one, other])) else {
      Issue.record("no plan")
      return
    }
    expect(plan.parts.map(\.roots.count), is: [32_768, 32_768])
    expect(code(.plan, self.plan([one, other, body(folders)])), is: .limit)
    expect(code(.plan, self.plan([one, other, changed(part, 4, root([0x61]))])), is: .limit)
    expect(code(ofPart: changed(folders, 4, all + all)) != nil)
  }

  @Test func `unknown fields of a plan have 32,768 bytes in all`() {
    // The plan's, the part's and the app's, each with a tag and a length.
    let part = { (count: Int) in
      self.changed(
        self.app, 5, self.body(self.identity + [(200, [UInt8](repeating: 0, count: 10_000 - 3))]),
        and: (200, [UInt8](repeating: 0, count: count - 3)))
    }
    let own: [Field] = [(200, [UInt8](repeating: 0, count: 10_000 - 3))]
    expect(code(.plan, plan([part(12_768)], own)) == nil)
    expect(code(.plan, plan([part(12_769)], own)), is: .limit)
    // The fields of a part of unknown kind are none of them.
    let roots = (0..<300 as Range<UInt16>).flatMap { root(u16($0) + [UInt8](repeating: 0x61, count: 200)) }
    expect(code(ofPart: changed(later, 4, roots)) == nil)
    expect(code(ofPart: changed(later, 200, [UInt8](repeating: 0, count: 32_765))), is: .limit)
  }

  private func body(_ fields: [Field]) -> [UInt8] { MigrationWireTests.body(fields) }

  private func changed(_ fields: [Field], _ tag: UInt8, _ value: [UInt8]?, and other: Field? = nil) -> [UInt8] {
    MigrationWireTests.changed(fields + (other.map { [$0] } ?? []), tag, value)
  }

  // MARK: Verdicts

  private func verdict(_ parts: [[UInt8]]) -> [Field] {
    [(1, run(0, 16)), (2, run(0, 16)), (3, u64(2_621_440)), (4, u16(1)), (5, list(parts)), (6, u32(0))]
  }

  private var taken: [UInt8] { body([(1, u16(0))]) }

  @Test func `a verdict has every field`() {
    let fields = verdict([taken])
    expect(code(.verdict, body(fields)) == nil)
    for tag in 1...6 as ClosedRange<UInt8> { expect(code(.verdict, changed(fields, tag, nil)), is: .field) }
    for tag in 1...2 as ClosedRange<UInt8> {
      expect(code(.verdict, changed(fields, tag, run(0, 15))), is: .truncated)
      expect(code(.verdict, changed(fields, tag, run(0, 17))), is: .trailing)
    }
  }

  @Test(arguments: [0, 1, 2_621_439] as [UInt64])
  func `a window below two frames is refused`(window: UInt64) {
    expect(code(.verdict, changed(verdict([taken]), 3, u64(window))), is: .value)
  }

  @Test func `one to 64 streams may be joined`() {
    let fields = verdict([taken])
    for count in [0, 65, 256, .max] as [UInt16] { expect(code(.verdict, changed(fields, 4, u16(count))), is: .value) }
    for count in [1, 2, 64] as [UInt16] { expect(code(.verdict, changed(fields, 4, u16(count))) == nil) }
  }

  @Test func `a verdict judges 1 to 4,096 parts`() {
    let parts = [[UInt8]](repeating: taken, count: 4_097)
    expect(code(.verdict, body(verdict([]))), is: .value)
    expect(code(.verdict, body(verdict(Array(parts.dropFirst())))) == nil)
    expect(code(.verdict, body(verdict(parts))), is: .limit)
  }

  @Test func `details belong to a refusal, and roots that are left out to a part that is taken`() {
    let part = { (code: UInt16, others: [Field]) in
      self.code(.verdict, self.body(self.verdict([self.body([(1, u16(code))] + others)])))
    }
    let without: Field = (9, u32(0) + u16(21))
    for code in [0, 1, 21, 999, 0xFFFF] as [UInt16] { expect(part(code, []) == nil) }
    for tag in [2, 3, 4, 5, 6, 7, 8, 10] as [UInt8] {
      let value = tag == 3 || tag == 10 ? u16(1) : tag < 5 ? ascii("x") : u64(1)
      expect(part(0, [(tag, value)]) == .field && part(0xFFFF, [(tag, value)]) == .field)
      expect(part(7, [(tag, value)]) == nil)
    }
    expect(part(0, [without]) == nil)
    expect(part(5, [without]) == .field && part(0xFFFF, [without]) == .field)
    expect(part(0, [(9, [])]) == .value && part(0, [(9, without.1 + without.1)]) == .value)
    expect(part(0, [(9, u32(1) + u16(21) + u32(0) + u16(21))]), is: .value)
    expect(part(0, [(9, u32(0) + u16(21) + u32(1) + u16(7))]) == nil)
    expect(part(5, [(2, [UInt8](repeating: 0x61, count: 1_025))]), is: .limit)
  }

  @Test func `a message may be absent, and is not empty`() throws {
    for part in [body([(1, u16(5))]), body([(1, u16(5)), (10, u16(5))]), body([(1, u16(0)), (200, [1])])] {
      let fields = body(verdict([part]))
      expect(try read(.verdict, fields)?.frame.dropFirst(Limits.frameHeader).elementsEqual(fields), is: true)
    }
    #expect(throws: Violation.self) { try read(.verdict, body(verdict([body([(1, u16(5)), (2, [])])]))) }
    let close = Close(.refused)
    expect(try Frame(ControlMessage.close(close).frame), is: .control(.close(close)))
    expect(try Frame(ControlMessage.failed(Failed(part: 1, close)).frame) != nil)
  }

  private func isRight(_ verdict: Verdict, for plan: Plan) -> Bool {
    violation { () throws(Violation) in try verdict.check(against: plan) } == nil
  }

  private func leavingOut(_ roots: UInt32...) -> Verdict.Judgement {
    .taken(without: roots.map { Verdict.RefusedRoot(root: $0, code: .notAllowed) })
  }

  private func keys(_ names: String...) -> [Root] { names.map { Root(kind: .directory, name: ascii($0)) } }

  @Test func `a verdict judges each part of its plan, and leaves a root`() {
    let parts = [Part(.files(of: "i", keys("a", "b", "c")), name: "n"), Sample.app]
    let plan = Plan(parts, continuing: 1)
    let verdict = { (parts: [Verdict.Judgement]) in Sample.verdict(parts) }
    expect(isRight(verdict([leavingOut(0, 2), .finished]), for: plan))
    expect(!isRight(verdict([leavingOut(0, 2), .finished]), for: Plan(parts)))
    expect(isRight(verdict([.refused(Sample.close), .taken()]), for: plan))
    for parts in [
      [.taken()], [.taken(), .taken(), .taken()], [leavingOut(0, 1, 2), .taken()], [leavingOut(3), .taken()],
      [.taken(), leavingOut(0)],
    ] as [[Verdict.Judgement]] { expect(!isRight(verdict(parts), for: plan), "\(parts)") }
  }

  @Test func `a verdict is for the plan that is continued, and keeps no pairing unasked`() {
    expect(isRight(Sample.verdict(of: 7), for: Plan([Sample.app], continuing: 7)))
    expect(!isRight(Sample.verdict(of: 8), for: Plan([Sample.app], continuing: 7)))
    let keeping = Verdict(
      transfer: 1, session: 2, window: 1 << 26, streams: 4, parts: [.taken()], flags: .keepPairing)
    expect(isRight(keeping, for: Plan([Sample.app], flags: .keepPairing)))
    expect(!isRight(keeping, for: Plan([Sample.app])))
  }

  @Test func `a plan with too many roots, or too long ones, does not fit`() {
    func plan(_ count: Int, _ length: Int) -> Plan {
      let names = (0..<count).map { ascii("\(100_000 + $0)") + [UInt8](repeating: 0x61, count: length) }
      return Plan([Part(.folders(names.map { Root(kind: .file, name: $0) }), name: "n")])
    }
    expect(plan(Limits.roots, 3).fits && !plan(Limits.roots + 1, 3).fits)
    expect(plan(5_000, 240).fits && !plan(5_300, 240).fits)
  }

  @Test func `the longest verdict fits into a frame`() {
    let message = String(repeating: "ä", count: 512)
    let close = Close(
      .noSpace, message, for: .inUse, name: [UInt8](repeating: 0, count: Limits.path),
      bytes: Close.Space(needed: 1, available: 0), items: Close.Space(needed: 1, available: 0), error: 5)
    var parts = [Verdict.Judgement](
      repeating: .refused(close.shortened(to: Verdict.room / Limits.parts)), count: Limits.parts - 1)
    let left = (0..<UInt32(Limits.roots - 1)).map { Verdict.RefusedRoot(root: $0, code: .notAllowed) }
    parts.append(.taken(without: left))
    expect(ControlMessage.verdict(Sample.verdict(parts)).frame.count <= Limits.frameHeader + Limits.frameBody)
  }

  @Test func `a reason is shortened to its room, and keeps its code and figures`() {
    let space = Close.Space(needed: 2, available: 1)
    let close = Close(
      .noSpace, String(repeating: "ä", count: 300), for: .recordsFull, name: [1], bytes: space, items: space, error: 28)
    expect(close.shortened(to: 1_000), is: close)
    for room in [56, 57, 100, 195, 500] {
      let short = close.shortened(to: room)
      expect(short.fields().length <= room && short.bytes == space && short.items == space && short.code == .noSpace)
      expect(short.cause == .recordsFull && short.error == 28)
      expect(short.message, is: String(repeating: "ä", count: (room - 56) / 2))
    }
  }

  // MARK: Continuing

  private func app(_ version: String, store: String = "s", options: [String]? = nil) -> Part {
    let app = AppIdentity(bundleIdentifier: "i", store: store, platform: "p", version: version, options: options)
    return Part(.app(app), name: "n")
  }

  @Test func `a later plan may have other estimates, kinds of roots and versions, and keep the pairing`() {
    let file = Root(kind: .file, name: ascii("d"))
    let first = Plan([Sample.folders, app("1"), Part(.unknown(9, roots: [file], app: nil), name: "n")])
    let later = Plan(
      [
        Part(.folders([file]), name: "d", bytes: 1, items: 2), app("2", options: ["a"]),
        Part(.unknown(9, roots: keys("d"), app: nil), name: "n", bytes: 5),
      ], continuing: 7, flags: .keepPairing)
    expect(later.continues(first) && first.continues(later) && first.continues(first))
  }

  @Test func `a later run continues a plan only if it has the same sources, and each can be told from others`() {
    let same = Plan([
      Part(.folders(keys("d", "e")), name: "d", sources: [SourceIdentity(1), SourceIdentity(2)]),
      Part(.folders(keys("f")), name: "f", sources: [SourceIdentity(3)]),
    ])
    let here: Set = [SourceIdentity(1), SourceIdentity(2), SourceIdentity(3)]
    expect(same.isContinued(from: here) && !same.isContinued(from: here.subtracting([SourceIdentity(2)])))
    let nameless = Plan([Part(.folders(keys("d")), name: "d", sources: [.unknown])])
    expect(!nameless.isContinued(from: here.union([.unknown])) && !nameless.hasLastingSources)
  }

  @Test func `a plan with anything else that differs continues none`() throws {
    let pairs: [(Part, Part)] = [
      (Sample.folders, Part(.folders(keys("d")), name: "e")),
      (Sample.folders, Part(.folders(keys("d")), name: "d", sources: [SourceIdentity(1)])),
      (Sample.folders, Part(.folders(keys("e")), name: "d")),
      (Sample.folders, Part(.folders(keys("d", "e")), name: "d")),
      (Sample.folders, Part(.role("home", keys("d")), name: "d")),
      (Sample.files, Part(.files(of: "j", keys("config")), name: "i")),
      (Sample.files, Part(.role("i", keys("config")), name: "i")),
      (Sample.files, Part(.files(of: "i", keys("state")), name: "i")),
      (app("1"), app("1", store: "t")),
      (Part(.unknown(9), name: "n"), Part(.unknown(10), name: "n")),
      (Part(.unknown(9), name: "n"), Part(.unknown(9, identifier: "x"), name: "n")),
    ]
    for (one, other) in pairs { expect(!Plan([one]).continues(Plan([other])), "\(one), \(other)") }
    expect(!Plan([Sample.folders, Sample.app]).continues(Plan([Sample.app, Sample.folders])))
    expect(!Plan([Sample.folders]).continues(Plan([Sample.folders, Sample.app])))
    // Also unknown fields of the plan, of a part and of an app.
    let plans = try [
      plan([body(app)]), plan([body(app)], [(200, [])]), plan([changed(app, 200, [])]),
      plan([changed(app, 5, body(identity + [(200, [])]))]),
    ].map { try read(.plan, $0) }
    for (index, one) in plans.enumerated() {
      for (otherIndex, other) in plans.enumerated() {
        guard case (.plan(let one)?, .plan(let other)?) = (one, other) else { continue }
        expect(one.continues(other), is: (index == otherIndex))
        expect(one.continues(other.recorded), is: (index == otherIndex))
      }
    }
  }

  @Test func `a part of folders has a name of at most 255 bytes`() {
    let accents = [[UInt8]](repeating: [0xCC, 0x81], count: 127).joined()
    for name in [[0x61], [UInt8](repeating: 0xFF, count: 255), [0xFF] + accents] {
      let roots = [Root(kind: .file, name: name), Root(kind: .file, name: [0xFF, 0xFF])]
      for count in 1...2 {
        let summary = SourceSummary(
          contents: .folders(Array(roots.prefix(count))), total: Tally(items: 3, bytes: 4), allocated: 4)
        let part = Part(summary)
        expect((1...255).contains(part.name.utf8.count) && part.items == 3 && part.bytes == 4)
        expect(part.offered, is: summary.contents)
      }
    }
  }
}
