import CSystem
import Glibc

/// A program that this one starts for its user, with all of this one's rights: another run of itself,
/// or a browser.
package struct UserProgram: Sendable {
  private let id: CInt

  /// Starts a program, which is looked for in PATH if its name has no slash. Without descriptors, it
  /// gets a session of its own and nothing to read or write.
  package init(_ program: String, _ arguments: [String]) throws(SystemError) {
    let nothing = try Descriptor.open("/dev/null", .readWrite)
    try self.init(program, arguments, [nothing.raw, nothing.raw, nothing.raw], hasSession: true)
    extendLifetime(nothing)
  }

  /// Starts a program between two pipes. What it writes on standard error is lost.
  package init(
    _ program: String, _ arguments: [String], input: borrowing Descriptor, output: borrowing Descriptor
  ) throws(SystemError) {
    let nothing = try Descriptor.open("/dev/null", .readWrite)
    try self.init(program, arguments, [input.raw, output.raw, nothing.raw], hasSession: false)
    extendLifetime(nothing)
  }

  private init(
    _ program: String, _ arguments: [String], _ descriptors: [CInt], hasSession: Bool
  ) throws(SystemError) {
    var texts = CTexts()
    let name = unsafe texts.add(program)
    let words = unsafe texts.list(([program] + arguments).map { Array($0.utf8) })
    let id = try calling("start", program) {
      unsafe csystem_run(name, words, descriptors, hasSession ? 1 : 0)
    }
    extendLifetime(texts)
    self.id = id
  }

  /// Asks it to end, as Ctrl-C does. Only before `wait`.
  package func interrupt() { _ = Glibc.kill(id, SIGINT) }

  /// Waits until it has ended, and returns its exit code; for a signal, 128 and its number. Called
  /// once.
  package func wait() throws(SystemError) -> Int32 {
    let status = try calling("wait for a process") { csystem_wait(id) }
    return status < 256 ? status : 128 + (status - 256)
  }
}

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
