import Glibc

/// The program that has started this one as a service, if it wants to know how it is.
package enum ServiceManager {
  /// Sends a state such as "READY=1" to the socket that `NOTIFY_SOCKET` names, as sd_notify(3) does.
  /// Nothing depends on its success.
  package static func tell(_ state: String, at path: String? = Environment.get("NOTIFY_SOCKET")) {
    guard let path, let first = path.utf8.first, path.utf8.count > 1 else { return }
    var address = sockaddr_un()
    guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    // A socket that is no file has a null byte in front of its name.
    if first == UInt8(ascii: "@") { address.sun_path.0 = 0 }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + path.utf8.count)
    let raw = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    guard raw >= 0 else { return }
    defer { close(raw) }
    var text = Array(state.utf8)
    _ = unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe sendto(raw, &text, text.count, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL), address, length)
      }
    }
  }
}
