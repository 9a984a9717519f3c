import CSystem
import Glibc

/// Unpredictable random bytes, from the kernel.
package enum SystemRandom {
  /// Fills a buffer.
  static func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(SystemError) {
    var done = 0
    while done < buffer.count {
      done += try calling("get random bytes") {
        unsafe csystem_random(buffer.baseAddress! + done, buffer.count - done)
      }
    }
  }

  /// Returns random bytes.
  package static func bytes(_ count: Int) throws(SystemError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var target = bytes.mutableSpan
    try unsafe target.withUnsafeMutableBytes { (buffer) throws(SystemError) in try unsafe fill(buffer) }
    return bytes
  }
}
