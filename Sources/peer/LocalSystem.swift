import Glibc
import MigrationSystem

/// The few things that the command needs of the C library and that MigrationSystem does not offer.
enum LocalSystem {
  /// The words behind the program's name, in whatever encoding they were typed.
  static var arguments: [[UInt8]] {
    (1..<max(1, Int(CommandLine.argc))).compactMap { index in
      unsafe CommandLine.unsafeArgv[index].map { word in
        unsafe Array(UnsafeRawBufferPointer(start: word, count: strlen(word)))
      }
    }
  }

  /// Opens a file that the user named, following links, so that /dev/stdin and shell substitutions work.
  static func open(_ path: [UInt8], forWriting: Bool = false) throws(SystemError) -> Descriptor {
    try unsafe path.withCString(for: "open") { (text) throws(SystemError) -> Descriptor in
      let mode = forWriting ? O_RDWR : O_RDONLY
      while true {
        let raw = unsafe Glibc.open(text.baseAddress!, mode | O_CLOEXEC | O_NOCTTY)
        if raw >= 0 { return Descriptor(owning: raw) }
        let error = errno
        if error != EINTR { throw SystemError(errno: error, operation: "open", subject: path.escapedText) }
      }
    }
  }

  /// Standard input, as a descriptor of our own.
  static func standardInput() throws(SystemError) -> Descriptor {
    let raw = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
    guard raw >= 0 else { throw SystemError(errno: errno, operation: "open", subject: "standard input") }
    return Descriptor(owning: raw)
  }

  /// Ends the program at once, whatever its threads do: no exit handler runs, so that none takes from under a thread what it
  /// still uses, OpenSSL's tables say.
  static func exit(_ code: Int32) -> Never {
    CurrentProcess.flushOutput()
    CurrentProcess.exitNow(code)
  }
}
