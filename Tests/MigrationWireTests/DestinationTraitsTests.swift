import Expectations
import TestSupport
import Testing

@testable import MigrationWire

@Suite struct DestinationTraitsTests {
  private typealias Lack = DestinationTraits.Lack

  private static func traits(_ rules: DestinationTraits.NameRules, longestName: Int? = nil) -> DestinationTraits {
    var traits = DestinationTraits()
    traits.nameRules = rules
    traits.longestName = longestName
    return traits
  }

  @Test(
    arguments: [
      (ascii("plain.txt"), [], nil), (ascii("a."), [.noTrailingDot], .trailingDots), (ascii("a."), [], nil),
      (ascii("a.b"), [.noTrailingDot, .noTrailingSpace], nil), (ascii("..."), [.noTrailingDot], .trailingDots),
      (ascii("a "), [.noTrailingSpace], .trailingSpaces), (ascii(" a"), [.noTrailingSpace], nil),
      (ascii("a "), [.noTrailingDot], nil), ([0x61, 0xFF], [.utf8Only], .otherEncodings), ([0x61, 0xFF], [], nil),
      ([0x61, 0xFF], [.noTrailingDot, .noWindowsCharacters], nil), (ascii("á漢😀"), [.utf8Only], nil),
      (ascii("á"), [.asciiOnly], .nonASCII), (ascii("a"), [.asciiOnly], nil), (ascii("aB"), [.noCapitals], .capitals),
      (ascii("á1"), [.noCapitals], nil),
      // A surrogate, a long form of "/", a byte that begins nothing.
      ([0xED, 0xA0, 0x80], [.utf8Only], .otherEncodings), ([0xC0, 0xAF], [.utf8Only], .otherEncodings),
      ([0x80], [.utf8Only], .otherEncodings), ([0x61, 0x01], [.noWindowsCharacters], .windowsCharacters),
      ([0x61, 0x1F], [.noWindowsCharacters], .windowsCharacters), ([0x61, 0x7F], [.noWindowsCharacters], nil),
      (ascii("AUX"), [.noWindowsCharacters], nil), (ascii("A"), [.foldsNames], nil),
    ] as [([UInt8], DestinationTraits.NameRules, DestinationTraits.Lack?)])
  func `a name is refused by the rule that it breaks and by no other`(
    name: [UInt8], rules: DestinationTraits.NameRules, lack: DestinationTraits.Lack?
  ) throws {
    let traits = Self.traits(rules)
    expect(traits.lack(forName: name[...]), is: lack)
    let record = ItemRecord(path: try ArchivePath(name), generation: 1, body: .directory)
    expect(traits.refusal(of: record), is: lack?.reason)
    expect(lack.map { $0.reason == .nameNotAllowed } ?? true)
  }

  @Test(arguments: "\"*:<>?\\|".utf8)
  func `each character that Windows has no place for is one`(byte: UInt8) {
    expect(Self.traits(.noWindowsCharacters).lack(forName: [0x61, byte, 0x62]), is: .windowsCharacters)
    expect(Self.traits([.noTrailingDot, .noTrailingSpace, .utf8Only]).lack(forName: [0x61, byte]) == nil)
  }

  @Test func `a name may be as long as the longest`() {
    let traits = Self.traits([], longestName: 143)
    expect(traits.lack(forName: ArraySlice(repeating: 0x61, count: 143)) == nil)
    expect(traits.lack(forName: ArraySlice(repeating: 0x61, count: 144)), is: .longNames)
    expect(Lack.longNames.reason, is: .nameTooLong)
  }

  @Test func `a destination that cannot hold a directory cannot hold its items`() {
    let traits = Self.traits(.noTrailingDot)
    expect(traits.lack(forPath: path("a./b")) == .directory && traits.lack(forPath: path("a/b./c/d")) == .directory)
    expect(traits.lack(forPath: path("a./b.")) == .directory && traits.lack(forPath: path("a/b.")) == .trailingDots)
    expect(traits.lack(forPath: path("a/b.c/d")) == nil)
    let beneath = ItemRecord(path: path("a./b"), generation: 1, body: .file(size: 0))
    expect(traits.refusal(of: beneath), is: .directoryNotStored)
  }

  @Test func `files and targets may be as long as the longest`() {
    var traits = DestinationTraits()
    traits.largestFile = 4_294_967_295
    traits.longestTarget = 1023
    func refusal(_ body: ItemRecord.Body) -> NotStored.Reason? {
      traits.refusal(of: ItemRecord(path: path("a"), generation: 1, body: body))
    }
    expect(refusal(.file(size: 4_294_967_295)) == nil && refusal(.file(size: 4_294_967_296)) == .tooLarge)
    expect(refusal(.symbolicLink(target: run(1, 1023).map { $0 | 1 })) == nil)
    expect(refusal(.symbolicLink(target: [UInt8](repeating: 1, count: 1024))), is: .targetTooLong)
    expect(refusal(.directory) == nil)
    traits.keepsSymbolicLinks = false
    expect(refusal(.symbolicLink(target: [1])) == .kindNotSupported && refusal(.file(size: 1)) == nil)
  }

  @Test func `a hard link is refused for its own name, and for its target's`() {
    let traits = Self.traits(.noTrailingDot)
    func refusal(_ from: String, _ target: String) -> NotStored.Reason? {
      traits.refusal(of: ItemRecord(path: path(from), generation: 1, body: .hardLink(target: path(target))))
    }
    expect(refusal("a", "b") == nil && refusal("a.", "b") == .nameNotAllowed && refusal("a", "b.") == .targetNotStored)
    expect(refusal("d./a", "b.") == .directoryNotStored && refusal("a", "d./b") == .targetNotStored)
  }

  @Test func `a destination without bounds refuses nothing, and one with any bound may`() {
    expect(DestinationTraits().refusesNothing)
    var wide = DestinationTraits()
    (wide.largestFile, wide.longestTarget, wide.longestName) = (Limits.fileSize, 4095, 255)
    wide.nameRules = .foldsNames
    wide.timeGranularity = 2_000_000_000
    expect(wide.refusesNothing)
    for rule in [.utf8Only, .asciiOnly, .noCapitals, .noWindowsCharacters, .noTrailingDot, .noTrailingSpace]
      as [DestinationTraits.NameRules]
    {
      expect(!Self.traits(rule).refusesNothing)
    }
    let narrowings: [(inout DestinationTraits) -> Void] = [
      { $0.largestFile = Limits.fileSize - 1 }, { $0.longestTarget = 4094 }, { $0.longestName = 254 },
      { $0.keepsSymbolicLinks = false },
    ]
    for narrow in narrowings {
      var traits = DestinationTraits()
      narrow(&traits)
      expect(!traits.refusesNothing)
    }
  }

  @Test func `every rule of names travels`() throws {
    for bit in 0..<7 as Range<UInt32> where bit != 5 {
      var traits = Self.traits(DestinationTraits.NameRules(rawValue: 1 << bit))
      traits.keepsSymbolicLinks = bit.isMultiple(of: 2)
      var writer = ByteWriter()
      traits.write(to: &writer)
      expect(try DestinationTraits(writer.bytes.span, 0..<writer.bytes.count), is: traits)
    }
  }
}

@Suite struct ItemTimeRoundingTests {
  @Test(
    arguments: [
      (ItemTime(seconds: 1_700_000_001, nanoseconds: 987_654_321), 1, 1_700_000_001, 987_654_321),
      (ItemTime(seconds: 1_700_000_001, nanoseconds: 987_654_321), 100, 1_700_000_001, 987_654_300),
      (ItemTime(seconds: 1_700_000_001, nanoseconds: 987_654_321), 10_000_000, 1_700_000_001, 980_000_000),
      (ItemTime(seconds: 1_700_000_001, nanoseconds: 987_654_321), 1_000_000_000, 1_700_000_001, 0),
      (ItemTime(seconds: 1_700_000_001, nanoseconds: 987_654_321), 2_000_000_000, 1_700_000_000, 0),
      (ItemTime(seconds: 1_700_000_002, nanoseconds: 0), 2_000_000_000, 1_700_000_002, 0),
      (ItemTime(seconds: -1, nanoseconds: 999_999_999), 1_000_000_000, -1, 0),
      (ItemTime(seconds: -1, nanoseconds: 999_999_999), 2_000_000_000, -2, 0),
      (ItemTime(seconds: -3, nanoseconds: 1), 100, -3, 0), (ItemTime(seconds: 0, nanoseconds: 0), .max, 0, 0),
      (ItemTime(seconds: .max, nanoseconds: 5), 2_000_000_000, .max - 1, 0),
      (ItemTime(seconds: .min, nanoseconds: 5), 2_000_000_000, .min, 0),
      (ItemTime(seconds: .min, nanoseconds: 5), 3_000_000_000, .min, 0),
      (ItemTime(seconds: 7, nanoseconds: 5), 0, 7, 5),
    ] as [(ItemTime, UInt32, Int64, UInt32)])
  func `a time is rounded to the past`(time: ItemTime, granularity: UInt32, seconds: Int64, nanoseconds: UInt32) {
    let rounded = time.rounded(to: granularity)
    expect(rounded, is: ItemTime(seconds: seconds, nanoseconds: nanoseconds))
    expect(seconds == .min || rounded.rounded(to: granularity) == rounded)
  }

  @Test(arguments: [1, 100, 1000, 1_000_000, 10_000_000, 1_000_000_000, 2_000_000_000] as [UInt32])
  func `two kept times tell the granularity`(granularity: UInt32) {
    let times = [
      ItemTime(seconds: 1_700_000_001, nanoseconds: 987_654_321),
      ItemTime(seconds: 1_700_000_002, nanoseconds: 123_456_789),
    ]
    expect(ItemTime.granularity(of: times.map { ($0, $0.rounded(to: granularity)) }), is: granularity)
  }

  @Test func `times that no granularity explains give none`() {
    let time = ItemTime(seconds: 5, nanoseconds: 5)
    expect(ItemTime.granularity(of: [(time, ItemTime(seconds: 6, nanoseconds: 0))]) == nil)
  }
}
