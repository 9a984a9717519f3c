import Expectations
import Glibc
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// Two sources with one name, and a user who changes, moves and removes what arrived, between passes
/// that succeed, are cut off or forget; judged by content alone.
@Suite struct SecondRunTests {
  @Test(arguments: 1...16 as ClosedRange<UInt64>)
  func `no byte of a user is lost, and nothing is called present that is not there`(seed: UInt64) throws {
    var world = try SecondRunWorld(seed)
    for _ in 0..<7 { try world.step() }
  }
}

private struct SecondRunWorld {
  private static let names = ["a", "b", "f/c", "f/d", "g/h/e"]

  private let scratch: Scratch
  private let passes: Passes
  private var random: Seeded
  private var clock = 1_500_000_000
  private var number = 10_000
  /// What each source has, by name.
  private var sources: [String: [String: String]] = ["one": [:], "two": [:]]
  /// The contents that each source may replace: it has brought them, and no user has touched them.
  private var brought: [String: Set<String>] = ["one": [], "two": []]

  /// The contents that the user has replaced in their places: no source need bring them again.
  private var overwritten: Set<String> = []

  init(_ seed: UInt64) throws {
    scratch = try Scratch.withFolders()
    passes = Passes(scratch)
    random = Seeded(seed)
    for source in ["one", "two"] {
      makeFolders("\(source)/root/f/x")
      for name in Self.names.shuffled(using: &random).prefix(4) { write(source, name) }
    }
    makeFolders("destination/root/x")
    makeFolders("destination/moved/x")
  }

  private func chance(_ sides: Int) -> (inout Seeded) -> Bool { { Int.random(in: 0..<sides, using: &$0) == 0 } }

  private func makeFolders(_ path: String) {
    let parts = path.split(separator: "/").dropLast()
    for count in 1...parts.count {
      let folder = parts.prefix(count).joined(separator: "/")
      if !scratch.exists(folder) { scratch.makeDirectory(folder) }
    }
  }

  /// A content that nothing else has, as long as all others.
  private mutating func content() -> String {
    number += 1
    return "content \(number)"
  }

  private mutating func write(_ source: String, _ name: String, isHidden: Bool = false) {
    let text = content()
    let path = "\(source)/root/\(name)"
    makeFolders(path)
    if !isHidden { clock += 10 }
    let time = isHidden ? scratch.snapshot("\(source)/root")[name]?.seconds : nil
    scratch.write(path, text)
    scratch.setTime(path, time ?? clock)
    sources[source, default: [:]][name] = text
  }

  /// Where each content lies at the destination.
  private var here: [String: [String]] {
    var found: [String: [String]] = [:]
    for folder in ["root", "moved"] {
      for (path, item) in scratch.snapshot("destination/\(folder)").entries where item.type == S_IFREG {
        let path = "destination/\(folder)/\(String(decoding: path, as: UTF8.self))"
        found[String(decoding: item.content, as: UTF8.self), default: []].append(path)
      }
    }
    return found.mapValues { $0.sorted() }
  }

  private mutating func changeSource(_ source: String) {
    let present = (sources[source] ?? [:]).keys.sorted()
    guard let name = present.randomElement(using: &random) else { return write(source, Self.names[0]) }
    switch Int.random(in: 0..<6, using: &random) {
    case 0: write(source, name)
    // As a container does it: other content, and the old time.
    case 1, 2: write(source, name, isHidden: true)
    case 3: scratch.setMode("\(source)/root/\(name)", [0o600, 0o640, 0o604].randomElement(using: &random) ?? 0o600)
    case 4:
      scratch.remove("\(source)/root/\(name)")
      sources[source]?[name] = nil
    default: write(source, Self.names.randomElement(using: &random) ?? name)
    }
  }

  private mutating func changeDestination() {
    let files = here.sorted { $0.key < $1.key }
    guard let (text, paths) = files.randomElement(using: &random), let path = paths.first else { return }
    for source in brought.keys { brought[source]?.remove(text) }
    switch Int.random(in: 0..<4, using: &random) {
    case 0:
      scratch.write(path, content())
      overwritten.insert(text)
    case 1: scratch.setMode(path, 0o611)
    case 2: scratch.move(path, to: "destination/moved/\(number)")
    default: scratch.remove(path)
    }
    number += 1
  }

  /// The record goes. Without it, size and time tell what is equal: each file gets another time.
  private mutating func forget() {
    scratch.write(Passes.record, [UInt8]())
    for (source, files) in sources {
      for name in files.keys.sorted() {
        clock += 10
        scratch.setTime("\(source)/root/\(name)", clock)
      }
    }
  }

  mutating func step() throws {
    for _ in 0..<3 {
      changeSource(["one", "two"].randomElement(using: &random) ?? "one")
      if chance(2)(&random) { changeDestination() }
    }
    if chance(8)(&random) { forget() }
    let source = ["one", "two"].randomElement(using: &random) ?? "one"
    let identity = SourceIdentity(source == "one" ? 1 : 2)
    if chance(4)(&random) {
      let before = here
      try passes.pass(of: source, from: identity, isCutOff: true)
      expect(here, is: before, "a pass that was cut off")
    }
    let removals = ([.unsettled, .unsettled, .again, .meant] as [ArrivedItems.Removals]).randomElement(using: &random)
    try check(source, identity, removals ?? .unsettled)
  }

  private mutating func check(
    _ source: String, _ identity: SourceIdentity, _ removals: ArrivedItems.Removals
  ) throws {
    let before = here
    let pass = try passes.pass(of: source, from: identity, removals)
    let after = here
    let mayGo = brought[source] ?? []
    for (text, paths) in before where !mayGo.contains(text) {
      expect(after[text] != nil, "\(text) of \(paths) is lost")
    }
    let own = sources[source] ?? [:]
    let missing = own.filter { after[$0.value] == nil && !overwritten.contains($0.value) }
    expect(
      UInt64(missing.count) <= pass.removed.count + UInt64(pass.refused.count),
      "\(missing) came with \(pass)")
    let folders = scratch.snapshot("\(source)/root").entries.filter { $0.value.type == S_IFDIR }.keys
      .count { scratch.exists("destination/root/\(String(decoding: $0, as: UTF8.self))") }
    let isThere = own.count - missing.count + folders + 1
    expect(pass.leftOut.present <= UInt64(isThere), "\(pass)")
    if removals == .again {
      expect(missing.isEmpty && pass.removed.count == 0, "\(missing) were wanted again: \(pass)")
    }
    brought[source]?.formUnion(own.values.filter { before[$0] == nil && after[$0] != nil })
    // The same once more changes nothing, and nothing that came is asked for.
    let second = try passes.pass(of: source, from: identity)
    expect(here, is: after, "a pass without a change")
    expect(Set(second.sent).isSubset(of: missing.keys) && second.following.isEmpty, "\(second)")
  }
}
