package import MigrationSystem

/// The file system of a directory or file of the source.
struct SourceFileSystem: Sendable {
  private let device: UInt64
  private let identifier: UInt64
  private let stamps: StampKeeping
  private let tellsHoles: Bool
  private let clocks: SourceClocks

  /// Reads the file system of an open file.
  init(of descriptor: borrowing Descriptor, _ clocks: SourceClocks) throws(SystemError) {
    device = try descriptor.status().device
    let name = try? descriptor.fileSystem()
    identifier = name?.identifier ?? 0
    stamps = name.map { StampKeeping(fileSystemType: $0.type) } ?? .unknown
    tellsHoles = name.map { Self.tellHoles.contains($0.type) } ?? false
    self.clocks = clocks
  }

  /// The number of the file system of a status. The number of a device may change with a restart.
  func number(of status: FileStatus) -> UInt64 {
    status.device == device && identifier != 0 ? identifier : status.device
  }

  /// Whether a look tells when an item changed last.
  var datesChanges: Bool { stamps == .ownClock }

  /// Whether every change of an item with this status is visible in it.
  func showsEveryChange(_ status: FileStatus) -> Bool { keeping(status).showsEveryChange(status) }

  /// Reads the status of an item, and for how long a further change could get the stamp of the last
  /// change.
  func look(_ status: () throws(SystemError) -> FileStatus) throws(SystemError) -> SourceStatus {
    // The clocks are read first: a stamp that is old at that time cannot be given again.
    let (now, begin) = (Timestamp.coarseNow(), BootInstant.now())
    let status = try status()
    if keeping(status) == .ownClock { return SourceStatus(status: status, at: now) }
    let wait = clocks.unsettledSeconds(status, seenBetween: begin, and: .now())
    return SourceStatus(status: status, unsettledSeconds: wait, now: now)
  }

  /// A file of this file system. The kernel's cached data of a file behind a server or daemon may
  /// be out of date.
  func file(_ descriptor: consuming Descriptor) -> RealDirectory.File {
    RealDirectory.File(descriptor, isRemembered: stamps != .ownClock, tellsHoles: tellsHoles)
  }

  /// The kernel's type numbers of file systems whose SEEK_HOLE is right, also for data that is not on
  /// the disk yet: ext4, XFS, btrfs, F2FS, tmpfs. Some versions of ZFS are wrong; a daemon or a server
  /// answers as it likes, and may be below overlayfs.
  static let tellHoles: Set<UInt64> = [
    0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0x0102_1994,
  ]

  /// The kernel's type numbers of file systems that have the state of this device and no files:
  /// proc, sysfs, devpts, cgroup and cgroup2, debugfs, tracefs, securityfs, bpf, pstore, configfs,
  /// mqueue, fusectl, efivarfs, selinuxfs, binfmt_misc.
  static let areKernels: Set<UInt64> = [
    0x9FA0, 0x6265_6572, 0x1CD1, 0x27_E0EB, 0x6367_7270, 0x6462_6720, 0x7472_6163, 0x7363_6673, 0xCAFE_4A11,
    0x6165_676C, 0x6265_6570, 0x1980_0202, 0x6573_5543, 0xDE5E_81E4, 0xF97C_FF8C, 0x4249_4E4D,
  ]

  /// The directory of another file system that is mounted there.
  func sharingClocks(with descriptor: borrowing Descriptor) throws(SystemError) -> SourceFileSystem {
    try SourceFileSystem(of: descriptor, clocks)
  }

  /// A name with a mount belongs to another file system.
  private func keeping(_ status: FileStatus) -> StampKeeping { status.device == device ? stamps : .unknown }
}

/// How a file system produces the times of files, and which of them can be trusted.
package enum StampKeeping: Equatable, Sendable {
  /// This machine's clock makes the stamps, and every change moves the time of change.
  case ownClock
  /// Every change moves the time of change, and another machine's clock makes the stamps.
  case otherClock
  /// Another program, or a disk's format, decides about both the clock and the time of change.
  case unknown

  /// Decides by the kernel's type number of a file system.
  package init(fileSystemType type: UInt64) {
    if Self.withOwnClock.contains(type) {
      self = .ownClock
    } else {
      self = type == Self.nfs ? .otherClock : .unknown
    }
  }

  /// Whether the time of change shows an edit after which size and modification time were restored.
  ///
  /// FAT, exFAT and SFTP have no such time; their drivers return the modification time, or nothing.
  /// A time of change that is later than the modification time is a genuine one.
  package func showsEveryChange(_ status: FileStatus) -> Bool {
    self != .unknown || (status.changed > status.modified && status.changed.seconds != 0)
  }

  /// The type numbers of ext2 to ext4, XFS, btrfs, tmpfs, ramfs, overlayfs, F2FS, ZFS, bcachefs,
  /// EROFS, squashfs.
  private static let withOwnClock: Set<UInt64> = [
    0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x8584_58F6, 0x794C_7630, 0xF2F5_2010, 0x2FC1_2FC1, 0xCA45_1A4E,
    0xE0F5_E1E2, 0x7371_7368,
  ]
  private static let nfs: UInt64 = 0x6969
}

/// The least time that the clock of a file system has reached, if the file system does not use this
/// machine's clock.
///
/// A stamp that was seen is a time that the clock has reached, and from then on the clock advances
/// as every clock does. So the wait uses that clock, whether it is ahead or behind, and it ends
/// although the sender may write nothing there to read the clock.
package struct SourceClock: Sendable {
  /// The latest time that the clock has certainly reached, and when this was learnt.
  private var known: (moment: Timestamp, since: BootInstant)?
  /// The last stamp that was asked about, and when it was first seen.
  private var last: (stamp: Timestamp, since: BootInstant)?

  package init() {}

  /// The most seconds that a stamp may be ahead of this machine's time and still say anything about
  /// the clock: programs set times freely on file systems without a time of change.
  private static let mostAhead = 86_400.0

  /// The seconds for which a file system may give out the same stamp, depending on whether the
  /// stamp has fractions of a second.
  private static func granule(of stamp: Timestamp) -> Double { stamp.nanoseconds == 0 ? 2 : 0.05 }

  /// Records that a stamp was seen, so that the clock has reached it by now.
  package mutating func note(_ stamp: Timestamp, at instant: BootInstant, here: Timestamp) {
    guard stamp.seconds(since: here) < Self.mostAhead else { return }
    if let passed = seconds(since: stamp, at: instant), passed >= 0 { return }
    known = (stamp, instant)
  }

  /// How long another change could still get a stamp that was seen between two moments; 0 if this
  /// was impossible even at the first moment.
  package mutating func unsettledSeconds(
    _ stamp: Timestamp, seenBetween begin: BootInstant, and end: BootInstant, here: Timestamp
  ) -> Double {
    let byClock = seconds(since: stamp, at: begin) ?? 0
    let byPatience = last.flatMap { $0.stamp == stamp ? begin.seconds(since: $0.since) : nil } ?? 0
    note(stamp, at: end, here: here)
    if last?.stamp != stamp { last = (stamp, end) }
    return max(0, Self.granule(of: stamp) - max(0, byClock, byPatience))
  }

  /// The least time since a stamp by this clock; nil if nothing is known.
  private func seconds(since stamp: Timestamp, at instant: BootInstant) -> Double? {
    known.map { $0.moment.seconds(since: stamp) + instant.seconds(since: $0.since) }
  }
}

/// The clocks of the source's file systems, by device.
final class SourceClocks: Sendable {
  private let clocks = Mutex<[UInt64: SourceClock]>([:])

  /// Starts with the latest stamps that a walk saw.
  init(_ latest: [UInt64: Timestamp] = [:]) {
    let (instant, here) = (BootInstant.now(), Timestamp.coarseNow())
    clocks.withLock { clocks in
      for (device, stamp) in latest { clocks[device, default: SourceClock()].note(stamp, at: instant, here: here) }
    }
  }

  /// How long another change could still get the stamp of a status that was read between two
  /// moments.
  func unsettledSeconds(_ status: FileStatus, seenBetween begin: BootInstant, and end: BootInstant) -> Double {
    let here = Timestamp.coarseNow()
    return clocks.withLock { clocks in
      clocks[status.device, default: SourceClock()].unsettledSeconds(
        status.changed, seenBetween: begin, and: end, here: here)
    }
  }
}

/// The result of one look at an item of the source.
package struct SourceStatus: Sendable {
  /// The kernel's status of the item.
  package let status: FileStatus
  /// For how long a further change could still get the stamp of the last change; 0 if it could not.
  package let unsettledSeconds: Double
  /// The time of day before the look.
  let now: Timestamp
  /// Whether the clock that made the stamp showed a later time before the look: then nothing changed
  /// during the look.
  package private(set) var isOld = false
}

extension SourceStatus {
  /// A look at a file system whose stamps this machine's clock makes; the clock showed `now` before
  /// the look.
  package init(status: FileStatus, at now: Timestamp) {
    self.init(status: status, unsettledSeconds: status.unsettledSeconds(at: now), now: now)
    isOld = unsettledSeconds == 0 && status.changed < now
  }
}
