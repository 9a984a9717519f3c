package import MigrationSystem

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
    if KernelNumber.ownClock.contains(type) {
      self = .ownClock
    } else {
      self = type == KernelNumber.nfs ? .otherClock : .unknown
    }
  }

  /// Whether the time of change shows an edit after which size and modification time were restored.
  ///
  /// FAT, exFAT and SFTP have no such time; their drivers return the modification time, or nothing.
  /// A time of change that is later than the modification time is a genuine one.
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
