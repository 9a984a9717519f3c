/// What the kernel says of the disk that a file system is on.
package enum BlockDevice {
  /// Whether the disk rotates, so that two who read from it at a time disturb each other; false where the kernel does not say.
  /// Disks of virtual machines mostly claim to.
  package static func isRotating(_ device: UInt64) -> Bool {
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
