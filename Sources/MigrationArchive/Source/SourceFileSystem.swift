import MigrationSystem

/// The file system of a directory or file of the source.
struct SourceFileSystem: Sendable {
  private let device: UInt64
  private let identifier: UInt64
  private let stamps: StampKeeping
  private let clocks: SourceClocks

  /// Reads it from an open file.
  init(of descriptor: borrowing Descriptor, _ clocks: SourceClocks) throws(SystemError) {
    device = try descriptor.status().device
    let name = try? descriptor.fileSystem()
    identifier = name?.identifier ?? 0
    stamps = name.map { StampKeeping(fileSystemType: $0.type) } ?? .unknown
    self.clocks = clocks
  }

  /// The number of the file system of a status. The number of a device may change with a restart.
  func number(of status: FileStatus) -> UInt64 {
    status.device == device && identifier != 0 ? identifier : status.device
  }

  /// Whether every change of an item with this status is visible in it.
  func showsEveryChange(_ status: FileStatus) -> Bool { keeping(status).showsEveryChange(status) }

  /// Reads the status of an item, and how long another change could have the same stamp as the last
  /// one.
  func look(_ status: () throws(SystemError) -> FileStatus) throws(SystemError) -> SourceLook {
    // The clocks are read first: a stamp that is old at that time cannot be given again.
    let (now, begin) = (Timestamp.coarseNow(), BootInstant.now())
    let status = try status()
    if keeping(status) == .ownClock { return SourceLook(status: status, at: now) }
    let wait = clocks.unsettledSeconds(status, seenBetween: begin, and: .now())
    return SourceLook(status: status, unsettledSeconds: wait, now: now)
  }

  /// A file of this file system. The kernel's cached data of a file behind a server or daemon may
  /// be out of date.
  func file(_ descriptor: consuming Descriptor) -> RealFile {
    RealFile(descriptor, isRemembered: stamps != .ownClock)
  }

  /// The directory of another file system that is mounted there.
  func sharingClocks(with descriptor: borrowing Descriptor) throws(SystemError) -> SourceFileSystem {
    try SourceFileSystem(of: descriptor, clocks)
  }

  /// A name with a mount belongs to another file system.
  private func keeping(_ status: FileStatus) -> StampKeeping { status.device == device ? stamps : .unknown }
}
