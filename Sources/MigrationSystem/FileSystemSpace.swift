import Glibc

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
  /// Whether the disk of the file's file system rotates, so that two concurrent readers slow each
  /// other down; false if the kernel does not say. Most disks of virtual machines claim to rotate.
  package var isOnRotatingDisk: Bool {
    let major = (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF
    let minor = device & 0xFF | (device >> 12) & ~0xFF
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
