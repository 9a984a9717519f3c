import Glibc
import MigrationSystem

extension SimulatedDisk {
  /// The names, types and sizes that a disk cannot hold in spite of its free room: the same at
  /// every attempt.
  struct Bounds {
    /// About one name in so many is not allowed.
    let rarity: UInt64
    let salt: UInt64
    let hasSymbolicLinks: Bool
    let largestFile: Int

    /// Some disks hold everything.
    static func some(_ dice: Dice) -> Bounds? {
      guard dice.one(in: 3) else { return nil }
      return Bounds(
        rarity: UInt64(dice.roll(4...30)), salt: dice.next(), hasSymbolicLinks: !dice.one(in: 3),
        largestFile: dice.one(in: 3) ? dice.roll(500...4_000) : .max)
    }

    func allows(_ name: some Sequence<UInt8>) -> Bool {
      var hash = salt
      for byte in name { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
      return Array(name).starts(with: ".peer-trial".utf8) || (hash >> 20) % rarity != 0
    }
  }

  /// Throws if a name or a type cannot be stored.
  func checkBounds(_ name: [UInt8], _ kind: FileKind) throws(SystemError) {
    guard let bounds else { return }
    if !bounds.allows(name) { throw SystemError(errno: EILSEQ, operation: "create") }
    if kind == .symbolicLink, !bounds.hasSymbolicLinks { throw SystemError(errno: EPERM, operation: "create") }
  }

  /// Throws if a file would become too large.
  func checkBounds(_ end: Int) throws(SystemError) {
    if let bounds, end > bounds.largestFile { throw SystemError(errno: EFBIG, operation: "write") }
  }
}
