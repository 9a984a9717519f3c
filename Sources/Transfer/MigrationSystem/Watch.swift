import CSystem
import Glibc

/// Waits for very many descriptors: the cost of a wait does not grow with those that are not ready.
/// A `Poller` suits a few.
package struct Watch: ~Copyable {
  private static let most = 64

  private let descriptor: Descriptor
  private var found: [csystem_watched]

  /// Creates a watch of nothing.
  package init() throws(SystemError) {
    descriptor = Descriptor(owning: try calling("watch a descriptor") { csystem_watch() })
    found = Array(repeating: csystem_watched(name: 0, events: 0), count: Self.most)
  }

  /// Watches a descriptor under a name. Its owner removes it before it is closed, or closes it.
  package func add(_ raw: CInt, as name: UInt64, for wanted: Poller.Readiness) throws(SystemError) {
    try set(1, raw, name, wanted)
  }

  /// Changes the readiness for which a descriptor is watched.
  package func change(_ raw: CInt, as name: UInt64, for wanted: Poller.Readiness) throws(SystemError) {
    try set(3, raw, name, wanted)
  }

  /// Watches a descriptor no longer, not even for its end.
  package func remove(_ raw: CInt) { try? set(2, raw, 0, []) }

  private func set(_ operation: CInt, _ raw: CInt, _ name: UInt64, _ wanted: Poller.Readiness) throws(SystemError) {
    try perform("watch a descriptor") {
      csystem_watch_set(descriptor.raw, operation, raw, name, UInt32(UInt16(bitPattern: wanted.rawValue)))
    }
  }

  /// Waits for some milliseconds at most; returns the names of ready descriptors, and their states.
  package mutating func wait(milliseconds: Int) throws(SystemError) -> [(name: UInt64, ready: Poller.Readiness)] {
    let count = try calling("wait for a loop's descriptors") {
      unsafe csystem_watch_wait(descriptor.raw, &found, CInt(Self.most), CInt(clamping: milliseconds))
    }
    return found.prefix(Int(count)).map {
      ($0.name, Poller.Readiness(rawValue: Int16(truncatingIfNeeded: $0.events)))
    }
  }
}
