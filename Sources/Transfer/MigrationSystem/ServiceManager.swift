import Glibc

/// The program that has started this one as a service, if it wants to know when it is ready.
package final class ServiceManager: Sendable {
  /// Connected, so that a process that is confined afterwards reaches it; nil once it has been told.
  private let socket: Mutex<SharedDescriptor?>

  /// Connects to the socket that `NOTIFY_SOCKET` names, as sd_notify(3) does.
  package init(at path: String? = Environment.get("NOTIFY_SOCKET")) {
    let socket = path.flatMap { Self.connected(to: $0) }
    self.socket = Mutex(socket)
  }

  private static func connected(to path: String) -> SharedDescriptor? {
    guard let first = path.utf8.first, path.utf8.count > 1 else { return nil }
    var address = sockaddr_un()
    guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    // A socket that is no file has a null byte in front of its name.
    if first == UInt8(ascii: "@") { address.sun_path.0 = 0 }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + path.utf8.count)
    let raw = Glibc.socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    guard raw >= 0 else { return nil }
    let socket = SharedDescriptor(Descriptor(owning: raw))
    let result = unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe connect(raw, $0, length) }
    }
    return result == 0 ? socket : nil
  }

  /// Says once that this program is ready. Nothing depends on its success.
  package func tellReady() {
    // A socket that stays open could reach others by their paths.
    let socket = socket.withLock { socket in
      let taken = socket
      socket = nil
      return taken
    }
    guard let socket else { return }
    let text = Array("READY=1".utf8)
    _ = unsafe send(socket.raw, text, text.count, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
  }
}
