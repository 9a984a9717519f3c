import MigrationSystem
import MigrationWire

/// The names that a file system stores unchanged. The probe creates each name and reads it back,
/// because some file systems strip or change names without an error.
extension DiskProbe {
  private enum Fate {
    case kept
    case refused
    /// The file system accepted the name and stored a different one.
    case changed
  }

  mutating func lookAtNames() {
    // Two names that combine every difficulty: usually the file system keeps both, and no other
    // name need be tried.
    guard [UInt8(ascii: "."), UInt8(ascii: " ")].contains(where: { fate(of: Self.hardest($0)) != .kept }) else {
      return
    }
    for (rule, names) in Self.samples where isRule(names) { abilities.nameRules.insert(rule) }
    lookAtLength()
  }

  private static let samples: [(DestinationTraits.NameRules, [[UInt8]])] = [
    (.utf8Only, [[0x70, 0xFF], [0x70, 0xED, 0xA0, 0x78]]),
    (.asciiOnly, ["p\u{E9}", "p\u{6F22}"].map { Array($0.utf8) }),
    (.noCapitals, [Array("Pq".utf8)]),
    (.noWindowsCharacters, (DestinationTraits.windowsCharacters + [0x01, 0x1F]).map { [UInt8(ascii: "p"), $0] }),
    (.noTrailingDot, [Array("p.".utf8)]),
    (.noTrailingSpace, [Array("p ".utf8)]),
  ]

  private static func hardest(_ last: UInt8) -> [UInt8] {
    let name = [0x50, 0x70, 0xFF] + Array("\u{E9}\u{6F22}".utf8) + DestinationTraits.windowsCharacters + [0x01, 0x1F]
    return name + [UInt8](repeating: UInt8(ascii: "n"), count: Limits.component - 1 - name.count) + [last]
  }

  /// Whether the file system forbids all names of this class: it accepts none of them, or stores
  /// one under another name. If it refuses only some of them, each item is judged by its own name.
  private func isRule(_ names: [[UInt8]]) -> Bool {
    var refused = 0
    for name in names {
      switch fate(of: name) {
      case .kept: break
      case .refused: refused += 1
      case .changed: return true
      }
    }
    return refused == names.count
  }

  /// The file system's treatment of a name; a name that cannot be tested counts as kept.
  private func fate(of name: [UInt8]) -> Fate {
    do throws(SystemError) {
      _ = try directory.createFile(name)
      defer { try? directory.remove(name) }
      return try isListed(name) ? .kept : .changed
    } catch {
      // The existing entry has a name that the file system treats as equal.
      if error.isAlreadyExisting { return .changed }
      return error.saysNothingOfAbilities ? .kept : .refused
    }
  }

  private func isListed(_ wanted: [UInt8]) throws(SystemError) -> Bool {
    var isListed = false
    try directory.forEachEntry { (name, _) throws(SystemError) in
      isListed = [UInt8](copying: name) == wanted
      return !isListed
    }
    return isListed
  }

  private mutating func lookAtLength() {
    guard !fits(Limits.component) else { return }
    var (low, high) = (1, Limits.component)
    while low < high - 1 {
      let middle = (low + high) / 2
      if fits(middle) { low = middle } else { high = middle }
    }
    abilities.longestName = low
  }

  private func fits(_ length: Int) -> Bool { fate(of: [UInt8](repeating: UInt8(ascii: "n"), count: length)) == .kept }

  mutating func lookAtFolding() {
    abilities.foldsCase = takes("fold", for: "FOLD")
    abilities.foldsNormalisation = takes("a\u{301}", for: "\u{E1}")
  }

  /// Whether a lookup of one name finds an entry created under another name.
  private func takes(_ name: String, for other: String) -> Bool {
    let name = Array(name.utf8)
    guard (try? directory.createFile(name)) != nil else { return false }
    defer { try? directory.remove(name) }
    return (try? directory.status(Array(other.utf8))) != nil
  }
}
