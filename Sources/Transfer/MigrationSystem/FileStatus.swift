import Glibc

/// The type of a directory entry.
package enum FileKind: Hashable, Sendable {
  case regular
  case directory
  case symbolicLink
  case fifo
  case socket
  case blockDevice
  case characterDevice

  /// The type in a status's mode.
  init?(mode: mode_t) {
    switch mode & S_IFMT {
    case S_IFREG: self = .regular
    case S_IFDIR: self = .directory
    case S_IFLNK: self = .symbolicLink
    case S_IFIFO: self = .fifo
    case S_IFSOCK: self = .socket
    case S_IFBLK: self = .blockDevice
    case S_IFCHR: self = .characterDevice
    default: return nil
    }
  }

  /// The type in a directory entry; nil if the file system does not store it there.
  init?(entryType: UInt8) {
    // The entry's type is the mode's type, shifted right.
    self.init(mode: mode_t(entryType) << 12)
  }
}

/// The kernel's status of a file.
package struct FileStatus: Equatable, Sendable {
  /// The type.
  package let kind: FileKind
  /// The twelve permission bits.
  package let mode: UInt32
  /// The length in bytes; for a symbolic link, the length of its target.
  package let size: Int64
  /// The bytes that it takes on the disk; less than `size` if it has holes.
  package let allocatedBytes: Int64
  /// The file system that holds it.
  package let device: UInt64
  /// Its inode number on that file system.
  package let inode: UInt64
  /// The number of its names.
  package let linkCount: UInt64
  /// The owner's number.
  package let owner: UInt32
  /// The group's number.
  package let group: UInt32
  /// When its content last changed.
  package let modified: Timestamp
  /// When its content or metadata last changed. Programs cannot set this.
  package let changed: Timestamp

  /// Creates a status from parts; values from the kernel are created by the calls.
  package init(
    kind: FileKind, mode: UInt32, size: Int64, allocatedBytes: Int64, device: UInt64, inode: UInt64,
    linkCount: UInt64 = 1,
    owner: UInt32 = 0, group: UInt32 = 0, modified: Timestamp, changed: Timestamp
  ) {
    self.kind = kind
    self.mode = mode
    self.size = size
    self.allocatedBytes = allocatedBytes
    self.device = device
    self.inode = inode
    self.linkCount = linkCount
    self.owner = owner
    self.group = group
    self.modified = modified
    self.changed = changed
  }

  /// Whether both are of one inode.
  package func isSame(as other: FileStatus) -> Bool { (device, inode) == (other.device, other.inode) }

  init(_ status: stat) {
    // The kernel has no other types; a future type would not be readable.
    kind = FileKind(mode: status.st_mode) ?? .characterDevice
    mode = status.st_mode & 0o7777
    size = Int64(status.st_size)
    allocatedBytes = Int64(status.st_blocks) * 512
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    linkCount = UInt64(status.st_nlink)
    owner = status.st_uid
    group = status.st_gid
    modified = Timestamp(status.st_mtim)
    changed = Timestamp(status.st_ctim)
  }
}

/// A file system at one of the places where it is mounted.
package struct MountIdentity: Equatable, Sendable {
  package let device: UInt64
  /// The kernel's number of the mount, or zero if it does not say.
  package let number: UInt64

  package init(device: UInt64, number: UInt64 = 0) {
    self.device = device
    self.number = number
  }
}

/// Flags that a file system keeps for a file or directory, and that chattr(1) sets.
package struct FileFlags: OptionSet, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  // The bits of statx(2).
  package static let compressed = FileFlags(rawValue: 0x4)
  package static let immutable = FileFlags(rawValue: 0x10)
  package static let appendOnly = FileFlags(rawValue: 0x20)
  package static let noDump = FileFlags(rawValue: 0x40)
}

extension Timestamp {
  init(_ time: timespec) {
    self.init(seconds: Int64(time.tv_sec), nanoseconds: UInt32(time.tv_nsec))
  }
}

/// The mode for opening a file. No flag creates a file, lets the kernel follow a link, or has a call
/// wait for the other end of a FIFO.
package struct OpenFlags: OptionSet, Sendable {
  package let rawValue: CInt

  package init(rawValue: CInt) {
    self.rawValue = rawValue
  }

  /// For reading, which is also the meaning of no flags.
  package static let readOnly = OpenFlags([])
  /// For reading and writing.
  package static let readWrite = OpenFlags(rawValue: O_RDWR)
  /// Every write without an offset goes to the end.
  package static let append = OpenFlags(rawValue: O_APPEND)
  /// Fails if it is not a directory.
  package static let directory = OpenFlags(rawValue: O_DIRECTORY)
  /// Also opens an item that is no regular file: the caller looks at its type.
  package static let anyKind = OpenFlags(rawValue: 1 << 30)

  /// The flags for the kernel. The opening functions add the flags that prevent following links.
  var kernelFlags: CInt { rawValue & ~Self.anyKind.rawValue | O_CLOEXEC | O_NONBLOCK }
}

/// The space that a file system has for this user.
package struct FileSystemSpace: Equatable, Sendable {
  /// The bytes that this user may still write; the superuser's reserve is not counted.
  package var availableBytes: UInt64
  /// The files that this user may still create, or nil if the file system sets no limit.
  package let availableItems: UInt64?
  /// The size of the file system.
  package let totalBytes: UInt64
  /// The most files that it can have, or nil if it sets no limit.
  package let totalItems: UInt64?
  /// The unit in which space is allocated.
  package let blockSize: UInt64

  package init(
    availableBytes: UInt64, availableItems: UInt64? = nil, totalBytes: UInt64, totalItems: UInt64? = nil,
    blockSize: UInt64 = 4_096
  ) {
    self.availableBytes = availableBytes
    self.availableItems = availableItems
    self.totalBytes = totalBytes
    self.totalItems = totalItems
    self.blockSize = blockSize
  }

  /// The space of the file system of an open file.
  package static func of(_ descriptor: borrowing Descriptor) throws(SystemError) -> FileSystemSpace {
    var space = statvfs()
    let raw = descriptor.raw
    try perform("measure the file system") { unsafe fstatvfs(raw, &space) }
    let unit = UInt64(space.f_frsize)
    return FileSystemSpace(
      availableBytes: UInt64(space.f_bavail) * unit,
      availableItems: space.f_files == 0 ? nil : UInt64(space.f_favail),
      totalBytes: UInt64(space.f_blocks) * unit,
      totalItems: space.f_files == 0 ? nil : UInt64(space.f_files),
      blockSize: unit)
  }
}

extension FileStatus {
  /// The numbers of the file system's device, as the kernel writes them in its lists.
  package var deviceNumbers: (major: UInt64, minor: UInt64) {
    ((device >> 8) & 0xFFF | (device >> 32) & ~0xFFF, device & 0xFF | (device >> 12) & ~0xFF)
  }

  /// Whether the disk of the file's file system rotates, so that two concurrent readers slow each
  /// other down; false if the kernel does not say. Most disks of virtual machines claim to rotate.
  package var isOnRotatingDisk: Bool {
    let (major, minor) = deviceNumbers
    let place = "/sys/dev/block/\(major):\(minor)/"
    // A partition has no queue of its own.
    for queue in ["queue/rotational", "../queue/rotational"] {
      if let content = try? FileContent.read(Array((place + queue).utf8), limit: 1 << 16) {
        return content.first == UInt8(ascii: "1")
      }
    }
    return false
  }
}
