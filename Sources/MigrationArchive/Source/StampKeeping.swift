package import MigrationSystem

/// How a file system comes by the times that it tells of files, and which of them can be believed.
package enum StampKeeping: Equatable, Sendable {
  /// This machine's clock makes the stamps, and every change moves the time of change.
  case ownClock
  /// Every change moves the time of change, and another machine's clock makes the stamps.
  case otherClock
  /// Another program, or a disk's format, decides about both.
  case unknown

  /// Tells them apart by the kernel's number of a file system.
  package init(fileSystemType type: UInt64) {
    if KernelNumber.ownClock.contains(type) {
      self = .ownClock
    } else {
      self = type == KernelNumber.nfs ? .otherClock : .unknown
    }
  }

  /// Whether an edit after which size and modification time were put back shows in the time of change.
  ///
  /// FAT, exFAT and SFTP have no such time, and what stands for them answers with the modification time, or with nothing. A time of
  /// change that is later than the modification time is one of its own.
  package func showsEveryChange(_ status: FileStatus) -> Bool {
    self != .unknown || (status.changed > status.modified && status.changed.seconds != 0)
  }

  private enum KernelNumber {
    /// ext2 to ext4, XFS, btrfs, tmpfs, ramfs, overlayfs, F2FS, ZFS, bcachefs, EROFS, squashfs.
    static let ownClock: Set<UInt64> = [
      0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x8584_58F6, 0x794C_7630, 0xF2F5_2010, 0x2FC1_2FC1, 0xCA45_1A4E,
      0xE0F5_E1E2, 0x7371_7368,
    ]
    static let nfs: UInt64 = 0x6969
  }
}
