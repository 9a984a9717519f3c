import CSystem

/// A pipe through which the kernel moves bytes from one socket to another, without a copy here.
package final class BytePipe {
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
  package func fill(from socket: borrowing StreamSocket, most: Int) throws(SystemError) -> Int? {
    let count = try Self.move(socket.raw, input.raw, min(most, Self.size - filled))
    filled += count ?? 0
    return count
  }

  /// Gives bytes to a socket; nil if it accepts none without waiting.
  package func empty(into socket: borrowing StreamSocket) throws(SystemError) -> Int? {
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
