import MigrationSystem

/// The file system that a directory or file of the source is on.
struct SourceFileSystem: Sendable {
  private let device: UInt64
  private let identifier: UInt64
  private let stamps: StampKeeping
  private let clocks: SourceClocks

  /// Asks about an open file.
  init(of descriptor: borrowing Descriptor, _ clocks: SourceClocks) throws(SystemError) {
    device = try descriptor.status().device
    let name = try? descriptor.fileSystem()
    identifier = name?.identifier ?? 0
    stamps = name.map { StampKeeping(fileSystemType: $0.type) } ?? .unknown
    self.clocks = clocks
  }

  /// The number of the file system of a status. A device's number may be another after a restart.
  func number(of status: FileStatus) -> UInt64 {
    status.device == device && identifier != 0 ? identifier : status.device
  }

  /// Whether every change of what has this status shows in it.
  func showsEveryChange(_ status: FileStatus) -> Bool { keeping(status).showsEveryChange(status) }

  /// Looks at something here, and says how long another change could hide behind the stamp of the last one.
  func look(_ status: () throws(SystemError) -> FileStatus) throws(SystemError) -> SourceLook {
    // The clocks are read first: a stamp that was old then cannot be given again.
    let (now, begin) = (Timestamp.coarseNow(), BootInstant.now())
    let status = try status()
    if keeping(status) == .ownClock { return SourceLook(status: status, at: now) }
    let wait = clocks.unsettledSeconds(status, seenBetween: begin, and: .now())
    return SourceLook(status: status, unsettledSeconds: wait, now: now)
  }

  /// A file of it. What the kernel remembers of one behind a server or daemon may be old.
  func file(_ descriptor: consuming Descriptor) -> RealFile {
    RealFile(descriptor, isRemembered: stamps != .ownClock)
  }

  /// The directory of another one that begins there.
  func sharingClocks(with descriptor: borrowing Descriptor) throws(SystemError) -> SourceFileSystem {
    try SourceFileSystem(of: descriptor, clocks)
  }

  /// A mount on a name here is another file system.
  private func keeping(_ status: FileStatus) -> StampKeeping { status.device == device ? stamps : .unknown }
}
