import MigrationSystem
import MigrationWire

/// Finds out the abilities of a file system by trying them in a directory of its own.
///
/// It needs no space, and about forty calls on a file system with all abilities; a few more on
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
    probe.lookAtDirectory()
    if let file = try? probe.directory.createFile(Self.file) { probe.look(at: file) }
    probe.lookAtRenaming()
    probe.lookAtSymbolicLinks()
    probe.lookAtNames()
    probe.lookAtFolding()
    return probe.abilities
  }

  private static let file = Array("file".utf8)
  private static let other = Array("other".utf8)
  private static let link = Array("link".utf8)

  /// Whether an operation is possible. A failure for a reason other than a missing ability counts
  /// as possible.
  func can(_ body: () throws(SystemError) -> Bool) -> Bool {
    do {
      return try body()
    } catch {
      return error.saysNothingOfAbilities
    }
  }

  private func manages(_ body: () throws(SystemError) -> Void) -> Bool {
    can { () throws(SystemError) in
      try body()
      return true
    }
  }

  private mutating func lookAtDirectory() {
    abilities.locks = manages { () throws(SystemError) in
      if try directory.descriptor.lock() { try directory.descriptor.unlock() }
    }
    abilities.synchronizesDirectories = manages { () throws(SystemError) in try directory.synchronize() }
  }

  private mutating func look(at file: borrowing Descriptor) {
    abilities.largestFile = Self.largestFile(by: file)
    lookAtTimes(of: file)
    lookAtRights(of: file)
    abilities.keepsAttributes = manages { () throws(SystemError) in
      try file.setAttribute(Array("user.peer".utf8), [1])
    }
    abilities.extendsFiles = manages { () throws(SystemError) in try file.truncate(to: Self.hole) }
    if abilities.extendsFiles {
      abilities.keepsHoles = can { () throws(SystemError) in try file.status().allocatedBytes < Self.hole }
    } else {
      abilities.keepsHoles = false
    }
  }

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
    } else {
      abilities.keepsTimes = false
    }
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
    abilities.renamesWithoutReplacing = manages { () throws(SystemError) in
      try directory.rename(Self.file, to: directory, as: Self.other, noReplace: true)
    }
    let name = (try? directory.status(Self.other)) == nil ? Self.file : Self.other
    abilities.makesHardLinks = manages { () throws(SystemError) in
      try directory.makeHardLink(name, in: directory, as: Self.link)
    }
    if name == Self.file { try? directory.rename(Self.file, to: directory, as: Self.other, noReplace: false) }
    if let after = try? directory.status(Self.other) { abilities.keepsNumbers = after.inode == before.inode }
    guard (try? directory.createFile(Self.file)) != nil else { return }
    abilities.exchangesNames = manages { () throws(SystemError) in
      try directory.exchange(Self.file, with: directory, Self.other)
    }
  }

  private mutating func lookAtSymbolicLinks() {
    guard !holdsTarget(Limits.linkTarget) else { return }
    abilities.keepsSymbolicLinks = holdsTarget(1)
    guard abilities.keepsSymbolicLinks else { return }
    var (low, high) = (1, Limits.linkTarget)
    while low < high - 1 {
      let middle = (low + high) / 2
      if holdsTarget(middle) { low = middle } else { high = middle }
    }
    abilities.longestTarget = low
  }

  private func holdsTarget(_ length: Int) -> Bool {
    let target = [UInt8](repeating: UInt8(ascii: "t"), count: length)
    let name = Array("target".utf8)
    defer { try? directory.remove(name) }
    return can { () throws(SystemError) in
      try directory.makeSymbolicLink(name, target: target)
      return try directory.readLink(name) == target
    }
  }
}
