internal import CSystem

/// The CRC-32C of every third word of 8 bytes, for each of the three beginnings (Protocol §9.3).
package typealias CheckLanes = (UInt32, UInt32, UInt32)

/// Computes the lanes of some bytes; `isPlain` uses no special instruction of the processor.
package func checkLanes(of bytes: Span<UInt8>, isPlain: Bool = false) -> CheckLanes {
  var lanes: CheckLanes = (0, 0, 0)
  unsafe bytes.withUnsafeBytes { bytes in
    unsafe withUnsafeMutableBytes(of: &lanes) { lanes in
      unsafe csystem_check_lanes(
        bytes.baseAddress, bytes.count, isPlain ? 1 : 0, lanes.baseAddress?.assumingMemoryBound(to: UInt32.self))
    }
  }
  return lanes
}
