/// The kernel's information about the disk of a file system.
package enum BlockDevice {
  /// Whether the disk rotates, so that two concurrent readers slow each other down; false if the
  /// kernel does not say. Most disks of virtual machines claim to rotate.
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
