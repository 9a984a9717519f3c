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

/// A pipe through which the kernel moves bytes from one socket to another, without a copy here.
package struct BytePipe: ~Copyable {
  /// How many bytes it takes at most.
  package static let size = 1 << 20

  private let output: Descriptor
  private let input: Descriptor
  /// How many bytes are in it.
  package private(set) var filled = 0

  /// Creates an empty pipe; it uses two descriptors.
  package init() throws(SystemError) {
    var raw: [CInt] = [0, 0]
    try perform("make a pipe") { unsafe csystem_byte_pipe(&raw, CInt(Self.size)) }
    output = Descriptor(owning: raw[0])
    input = Descriptor(owning: raw[1])
  }

  /// Takes bytes out of a socket: 0 after the other end's last byte, nil if there are none yet, or
  /// no room.
  package mutating func fill(from socket: borrowing StreamSocket, most: Int) throws(SystemError) -> Int? {
    let count = try Self.move(socket.raw, input.raw, min(most, Self.size - filled))
    filled += count ?? 0
    return count
  }

  /// Gives bytes to a socket; nil if it accepts none without waiting.
  package mutating func empty(into socket: borrowing StreamSocket) throws(SystemError) -> Int? {
    let count = try Self.move(output.raw, socket.raw, filled)
    filled -= count ?? 0
    return count
  }

  private static func move(_ from: CInt, _ to: CInt, _ most: Int) throws(SystemError) -> Int? {
    do {
      return try calling("move bytes") { csystem_move_bytes(from, to, most) }
    } catch let error where error.isWouldBlock {
      return nil
    }
  }
}
