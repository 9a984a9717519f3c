import CSystem
import Glibc

extension CurrentProcess {
  /// Does something in a process of its own, with a copy of this one's memory, that is no child of this one and ends after it.
  ///
  /// It has a session of its own, /dev/null for the standard descriptors, the root for its directory, and of all descriptors that
  /// this process has only the socket, which this process closes. What it holds besides in memory stays untouched: nothing is
  /// destroyed there. This process has no other thread.
  ///
  /// - Parameter name: shown by ps, as far as 15 bytes go.
  package static func detach(
    named name: String, with socket: consuming PacketSocket, _ body: (consuming PacketSocket) -> Void
  ) throws(SystemError) {
    let number = try calling("start another process") { unsafe csystem_detach(socket.raw, name) }
    if number == 0 { return }
    body(PacketSocket(owning: Descriptor(owning: number)))
    exitNow(0)
  }
}
