import MigrationSystem
package import MigrationWire

/// Finds out the abilities of a file system by trying them in a directory of its own.
///
/// It needs no space, and about thirty calls on a file system with all abilities; a few more on
/// others. It never fails.
struct DiskProbe: ~Copyable {
  /// The name of the probe's directory; a crash leaves at most this directory behind.
  static let name = Array("probe".utf8)

  let directory: Directory
  var abilities = DiskAbilities()

  private init(in directory: consuming Directory) { self.directory = directory }

  /// Probes the file system of a directory that only this program uses.
  static func run(in place: borrowing Directory) -> DiskAbilities {
    try? place.removeTree(ifThere: name)
    // A directory of an earlier probe may exist; it serves as well.
    try? place.makeDirectory(name, mode: 0o700)
    defer { try? place.removeTree(ifThere: name) }
    guard let directory = try? place.openChildDirectory(name) else { return DiskAbilities() }
    var probe = DiskProbe(in: directory)
    if let file = try? probe.directory.createFile(Self.file) { probe.look(at: file) }
    probe.lookAtRenaming()
    probe.abilities.keepsNames = [UInt8(ascii: "."), UInt8(ascii: " ")].allSatisfy { probe.keeps(Self.hardest($0)) }
    probe.abilities.keepsPlainNames = probe.abilities.keepsNames || probe.keeps(plainest)
    probe.lookAtFolding()
    return probe.abilities
  }

  /// Whether a directory has no more than a killed probe can leave: no directory, and no file that is
  /// longer than those of a probe.
  static func canHaveLeft(_ directory: borrowing Directory) -> Bool {
    var isLeft = true
    try? directory.forEachEntry { (name, _) throws(SystemError) in
      let status = try? directory.status([UInt8](copying: name))
      isLeft = status.map { $0.kind != .directory && $0.size <= hole } ?? false
      return isLeft
    }
    return isLeft
  }

  private static let file = Array("file".utf8)
  private static let other = Array("other".utf8)

  /// Whether an operation is possible. A failure for a reason other than a missing ability counts
  /// as possible.
  func can(_ body: () throws(SystemError) -> Bool) -> Bool {
    do {
      return try body()
    } catch {
      return error.saysNothingOfAbilities
    }
  }

  private mutating func look(at file: borrowing Descriptor) {
    abilities.largestFile = Self.largestFile(by: file)
    lookAtTimes(of: file)
    lookAtRights(of: file)
  }

  // Probes of earlier versions extended a file to this size.
  private static var hole: Int64 { 65_536 }

  private static func largestFile(by file: borrowing Descriptor) -> UInt64? {
    guard !file.mayReach(Int64(Limits.fileSize)) else { return nil }
    var (low, high) = (Int64(0), Int64(Limits.fileSize))
    while low < high - 1 {
      let middle = low + (high - low) / 2
      if file.mayReach(middle) { low = middle } else { high = middle }
    }
    // A limit of zero means that the answer was misunderstood.
    return low > 0 ? UInt64(low) : nil
  }

  private mutating func lookAtTimes(of file: borrowing Descriptor) {
    var kept: [(set: ItemTime, got: ItemTime)] = []
    for time in Self.times {
      do throws(SystemError) {
        try file.setTimes(modified: time)
        kept.append((ItemTime(time), ItemTime(try file.status().modified)))
      } catch {
        abilities.keepsTimes = error.saysNothingOfAbilities
        return
      }
    }
    if let granularity = ItemTime.granularity(of: kept) {
      abilities.timeGranularity = granularity
      abilities.earliestTime = Self.end(-Self.distant, of: file)
      abilities.latestTime = Self.end(Self.distant, of: file)
    } else {
      abilities.keepsTimes = false
    }
  }

  /// A number of seconds that some file systems keep, and more than others can.
  private static var distant: Int64 { 1 << 34 }

  /// The second at which a file system puts a distant time; nil if it keeps that, or refuses it.
  private static func end(_ seconds: Int64, of file: borrowing Descriptor) -> Int64? {
    func kept(_ seconds: Int64) -> Int64? {
      do throws(SystemError) {
        try file.setTimes(modified: Timestamp(seconds: seconds, nanoseconds: 0))
        return try file.status().modified.seconds
      } catch {
        return nil
      }
    }
    // One that makes another time of it keeps no end.
    guard let end = kept(seconds), end != seconds, (end < 0) == (seconds < 0) || end == 0, kept(end) == end else {
      return nil
    }
    return end
  }

  /// Odd and even seconds, and fractions that a coarser clock cannot represent.
  private static let times = [
    Timestamp(seconds: 1_700_000_001, nanoseconds: 987_654_321),
    Timestamp(seconds: 1_700_000_002, nanoseconds: 123_456_789),
  ]

  private mutating func lookAtRights(of file: borrowing Descriptor) {
    let areKept = ([0o640, 0o751] as [UInt32]).allSatisfy { mode in
      can { () throws(SystemError) in
        try file.setMode(mode)
        return try file.status().mode == mode
      }
    }
    guard !areKept, let status = try? file.status(), let own = try? directory.status() else { return }
    abilities.fixedRights = DiskAbilities.FixedRights(file: status.mode, directory: own.mode)
  }

  private mutating func lookAtRenaming() {
    guard let before = try? directory.status(Self.file) else { return }
    try? directory.rename(Self.file, to: directory, as: Self.other, noReplace: false)
    if let after = try? directory.status(Self.other) { abilities.keepsNumbers = after.inode == before.inode }
  }

  /// Two names that combine every difficulty: usually the file system keeps both, and no other name need be
  /// tried.
  private static func hardest(_ last: UInt8) -> [UInt8] {
    let name = [0x50, 0x70, 0xFF] + Array("\u{E9}\u{6F22}\"*:<>?\\|\u{1}\u{1F}".utf8)
    return name + [UInt8](repeating: UInt8(ascii: "n"), count: Limits.component - 1 - name.count) + [last]
  }

  /// A long name of letters, as most names are, but for the length.
  private static var plainest: [UInt8] { Array("Mixed-Case_and.Points".utf8) + [UInt8](repeating: 0x6E, count: 79) }

  /// Whether a name needs no trial where `plainest` is kept.
  static func isPlain(_ name: [UInt8]) -> Bool {
    name.count <= plainest.count && name.first != UInt8(ascii: ".") && name.last != UInt8(ascii: ".")
      && name.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
          true
        default: false
        }
      }
  }

  private func keeps(_ name: [UInt8]) -> Bool { can { () throws(SystemError) in try isStored(name) } }

  /// Whether the file system stores a name as it is: a new file is listed by it.
  private func isStored(_ name: [UInt8]) throws(SystemError) -> Bool {
    _ = try directory.createFile(name)
    defer { try? directory.remove(name) }
    return try directory.lists(name[...])
  }

  /// Why a file system that keeps some names alone cannot hold an item of this name, judging by a file of
  /// this name in a directory of its own; nil if it can. Not sure where the trial itself fails.
  static func refusal(
    of name: [UInt8], in place: borrowing Directory
  ) -> (reason: NotStored.Reason?, isSure: Bool) {
    // exfat-fuse ends at half of a UTF-16 pair.
    guard !zip(name, name.dropFirst()).contains(where: { $0 == 0xED && $1 >= 0xA0 }) else {
      return (.nameNotAllowed, true)
    }
    try? place.makeDirectory(Self.name, mode: 0o700)
    defer { try? place.removeTree(ifThere: Self.name) }
    guard let directory = try? place.openChildDirectory(Self.name) else { return (nil, false) }
    do {
      return (try DiskProbe(in: directory).isStored(name) ? nil : .nameNotAllowed, true)
    } catch {
      if error.saysNothingOfAbilities { return (nil, false) }
      return (error.isTooLong ? .nameTooLong : .nameNotAllowed, true)
    }
  }

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

/// The abilities of a file system, as a probe found them by trying.
///
/// An ability that the probe could not test counts as present: the first use that fails shows that
/// it is missing.
package struct DiskAbilities: Equatable, Sendable {
  /// The most bytes in a file; nil if every file that a sender can send fits.
  package var largestFile: UInt64?
  /// Whether the file system keeps every name that a sender can send; another one may store a name as another
  /// name, without an error.
  package var keepsNames = true
  /// Whether it keeps long names of letters, digits and few signs.
  package var keepsPlainNames = true
  package var foldsCase = false
  package var foldsNormalisation = false
  /// The file system keeps times in multiples of this many nanoseconds, rounded down.
  package var timeGranularity: UInt32 = 1
  /// The first and the last second of the times that it keeps: others are put there. Nil without a
  /// limit.
  package var earliestTime: Int64?
  package var latestTime: Int64?
  /// Whether the file system keeps the times that are set, possibly rounded or put at an end.
  package var keepsTimes = true
  /// The permissions of every item if they cannot be set; nil if they can.
  package var fixedRights: FixedRights?
  /// Whether a file keeps its inode number when it is renamed.
  package var keepsNumbers = true

  /// Whether names that differ in case or normalisation alone may be one.
  package var foldsNames: Bool { foldsCase || foldsNormalisation }

  /// Whether an inode number tells an entry from every other one for as long as it exists. File
  /// systems without permissions make the numbers up.
  package var tellsEntriesApart: Bool { keepsNumbers && fixedRights == nil }

  /// The permissions that files and directories have, regardless of the mode that is set.
  package struct FixedRights: Equatable, Sendable {
    package let file: UInt32
    package let directory: UInt32
  }

  package init() {}

  /// The traits that the receiver reports to the other device.
  package var traits: DestinationTraits {
    var traits = DestinationTraits()
    traits.largestFile = largestFile
    traits.timeGranularity = timeGranularity
    (traits.earliestTime, traits.latestTime) = (earliestTime, latestTime)
    return traits
  }
}
