import CSystem
import Glibc

extension CurrentProcess {
  /// Runs a closure in a new process, with a copy of this process's memory, that is not a child of
  /// this one and may outlive it.
  ///
  /// The new process has a session of its own, /dev/null as its standard descriptors, and the root
  /// as its directory. It keeps only one of this process's descriptors, the socket, which this
  /// process closes. Other values in its memory remain untouched: nothing is destroyed there. The
  /// calling process must have only one thread.
  ///
  /// - Parameter name: the name that ps shows, up to 15 bytes.
  package static func detach(
    named name: String, with socket: consuming PacketSocket, _ body: (consuming PacketSocket) -> Void
  ) throws(SystemError) {
    let number = try calling("start another process") { unsafe csystem_detach(socket.raw, name) }
    if number == 0 { return }
    body(PacketSocket(owning: Descriptor(owning: number)))
    exitNow(0)
  }
}
