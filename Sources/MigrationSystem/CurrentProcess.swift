import CSystem
import Glibc

/// The process that we are, and the machine that it runs on.
package enum CurrentProcess {
  /// The process's number.
  package static var id: CInt { getpid() }

  /// How many processors the machine has for it.
  package static var processors: Int { max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN))) }

  /// The user whose rights it has.
  package static var effectiveUserID: UInt32 { geteuid() }

  /// The calling thread's number, as ps and /proc show it.
  package static var threadID: CInt { csystem_thread_id() }

  /// Raises the limit of open descriptors as far as we may, and returns it.
  @discardableResult
  package static func raiseDescriptorLimit() throws(SystemError) -> UInt64 {
    var limit = rlimit()
    try perform("read the descriptor limit") { unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) }
    if limit.rlim_cur < limit.rlim_max {
      limit.rlim_cur = limit.rlim_max
      try perform("raise the descriptor limit") {
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      }
    }
    return UInt64(limit.rlim_cur)
  }

  /// The permission bits that new files do not get.
  ///
  /// Read from /proc, because the system call can only exchange it, for all threads at once.
  package static func umask() throws(SystemError) -> UInt32 {
    let status = try Directory.open("/proc/self").openChild("status")
    var text = [UInt8](repeating: 0, count: 4096)
    var target = text.mutableSpan
    let count = try unsafe target.withUnsafeMutableBytes { (buffer) throws(SystemError) in
      try unsafe status.readFully(at: 0, into: buffer)
    }
    for line in text[..<count].split(separator: UInt8(ascii: "\n")) {
      let line = String(decoding: line, as: UTF8.self)
      guard line.hasPrefix("Umask:") else { continue }
      if let mask = UInt32(line.dropFirst(6).drop(while: \.isWhitespace), radix: 8) { return mask }
    }
    throw SystemError(errno: ENOSYS, operation: "read the umask")
  }

  /// The name that the machine has for itself.
  package static func hostName() throws(SystemError) -> String {
    // Linux allows 64 bytes and a terminator.
    try unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 65) { (buffer) throws(SystemError) in
      try perform("read the host name") { unsafe gethostname(buffer.baseAddress!, buffer.count) }
      return unsafe String(cString: buffer.baseAddress!)
    }
  }

  /// From now on no memory of this process gets into a file when it crashes, and no process of the same user reads it or
  /// follows it by ptrace; root can. Asked for before a secret is read; there is no way back but another program.
  package static func keepMemorySecret() throws(SystemError) {
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    try perform("forbid a core file") { unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none) }
    try perform("keep other processes from this one's memory") { csystem_keep_memory_secret() }
  }

  /// Ends the process at once: no other thread is waited for, and nothing that they hold is let go in order.
  package static func exitNow(_ code: CInt) -> Never { _exit(code) }

  /// Lets what the program prints be seen line by line, also in a pipe.
  package static func bufferOutputByLine() { _ = csystem_buffer_lines() }

  /// From now on large pieces of memory go back to the system as soon as they are free: for a process that goes on for long.
  package static func keepLittleMemory() { csystem_keep_little_memory() }

  /// Gives back the memory that the allocator keeps for later: a process that waits for days has no use for it.
  package static func returnFreeMemory() { csystem_return_free_memory() }

  /// Hands what the program printed, and the C library still keeps, to the kernel.
  package static func flushOutput() { fflush(nil) }

  /// The directory from which this process has loaded a library; nil if it has not.
  package static func directory(ofLibrary name: String) -> String? {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
      guard unsafe csystem_loaded_library(name, buffer.baseAddress!, buffer.count) != 0 else { return nil }
      let path = unsafe String(cString: buffer.baseAddress!)
      return path.lastIndex(of: "/").map { String(path[..<$0]) }
    }
  }
}
