import CSystem
import Glibc

/// Unpredictable random bytes, from the kernel.
package enum SystemRandom {
  /// Returns random bytes.
  package static func bytes(_ count: Int) throws(SystemError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var target = bytes.mutableSpan
    try unsafe target.withUnsafeMutableBytes { (buffer) throws(SystemError) in
      var done = 0
      while done < buffer.count {
        done += try calling("get random bytes") {
          unsafe csystem_random(buffer.baseAddress! + done, buffer.count - done)
        }
      }
    }
    return bytes
  }
}

/// Overwrites an array's bytes with zeros and empties it: for secrets, once they have been used.
///
/// The array must be the only holder of its memory, or a copy of it is wiped; earlier copies are
/// not reached either. A function that takes an array as an argument leaves it to its caller.
package func cleanse(_ bytes: inout [UInt8]) {
  unsafe bytes.withUnsafeMutableBytes { memory in
    if let start = memory.baseAddress { unsafe explicit_bzero(start, memory.count) }
  }
  bytes = []
}

/// Does the same with an array that may be missing.
package func cleanse(_ bytes: inout [UInt8]?) {
  guard var present = bytes.take() else { return }
  cleanse(&present)
}
