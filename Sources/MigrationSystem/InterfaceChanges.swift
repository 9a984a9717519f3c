import CSystem
import Glibc

/// Hears from the kernel that links or addresses of this device come, go or change. It never blocks.
package final class InterfaceChanges: Sendable {
  private let descriptor: Descriptor

  /// Hears of what changes from now on; list the interfaces afterwards, so that no change falls in between.
  package init() throws(SystemError) {
    descriptor = Descriptor(
      owning: try calling("watch the network interfaces") { csystem_route_socket(csystem_interface_changes) })
  }

  /// The descriptor to wait for: readable when something has changed.
  package var raw: CInt { descriptor.raw }

  /// Takes the news; whether there was any. What has changed is seen by listing the interfaces.
  package func take() -> Bool {
    var isChanged = false
    var byte: UInt8 = 0
    // What comes faster than it is taken ends some later look.
    for _ in 0..<256 {
      // Each call takes one message, of which nothing need be read.
      let count = unsafe recv(raw, &byte, 1, CInt(MSG_DONTWAIT))
      if count == -1, errno == EAGAIN { break }
      // Also an error: messages were lost (ENOBUFS).
      isChanged = true
    }
    return isChanged
  }
}
