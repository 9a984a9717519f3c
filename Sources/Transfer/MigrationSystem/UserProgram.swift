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

  /// Starts a program between two pipes. Its standard error is discarded.
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
