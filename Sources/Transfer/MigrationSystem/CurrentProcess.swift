import CSystem
import Glibc

/// The current process, and its machine.
package enum CurrentProcess {
  /// The process's number.
  package static var id: CInt { getpid() }

  /// The number of processors that the machine has for it.
  package static var processors: Int { max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN))) }

  /// The effective user of the process.
  package static var effectiveUserID: UInt32 { geteuid() }

  /// The home directory of the effective user, as the system's list of users has it; for the start
  /// of a process, when it has one thread.
  package static var homeDirectory: [UInt8]? { homeDirectory(ofUser: geteuid()) }

  /// The home directory of a user, likewise.
  package static func homeDirectory(ofUser user: UInt32) -> [UInt8]? {
    guard let entry = unsafe getpwuid(user), let home = unsafe entry.pointee.pw_dir else { return nil }
    return unsafe Array(UnsafeRawBufferPointer(start: home, count: strlen(home)))
  }

  /// The shell of the effective user's logins, as the system's list of users has it; for the start of a
  /// process, when it has one thread.
  package static var loginShell: [UInt8]? {
    guard let entry = unsafe getpwuid(geteuid()), let shell = unsafe entry.pointee.pw_shell else { return nil }
    return unsafe Array(UnsafeRawBufferPointer(start: shell, count: strlen(shell)))
  }

  /// The words after the program's name, in any encoding. Swift's `CommandLine` has none without /proc.
  package static var arguments: [[UInt8]] {
    var words: [[UInt8]] = []
    while let word = unsafe csystem_next_argument(CInt(words.count)) {
      unsafe words.append(Array(UnsafeRawBufferPointer(start: word, count: strlen(word))))
    }
    return words
  }

  /// Raises the limit of open descriptors as far as permitted, and returns it.
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
  /// Read from /proc, because the system call can only replace the mask, for all threads at once.
  package static func umask() throws(SystemError) -> UInt32 {
    let status = try Directory.open("/proc/self").openChild("status")
    var text = [UInt8](repeating: 0, count: 4096)
    let count = try status.readFully(at: 0, into: &text)
    var rest = text[..<count]
    while !rest.isEmpty {
      let bytes = rest.prefix { $0 != UInt8(ascii: "\n") }
      rest = rest.dropFirst(bytes.count + 1)
      guard bytes.starts(with: "Umask:".utf8) else { continue }
      let digits = String(decoding: bytes.dropFirst(6), as: UTF8.self).drop(while: \.isWhitespace)
      if let mask = UInt32(digits, radix: 8) { return mask }
    }
    throw SystemError(errno: ENOSYS, operation: "read the umask")
  }

  /// The machine's own name.
  package static func hostName() throws(SystemError) -> String {
    // Linux allows 64 bytes and a terminator.
    try unsafe withStackMemory(byteCount: 65) { (buffer) throws(SystemError) in
      let text = unsafe buffer.bindMemory(to: CChar.self).baseAddress!
      try perform("read the host name") { unsafe gethostname(text, buffer.count) }
      return unsafe String(cString: text)
    }
  }

  /// From now on a crash writes no memory of this process to a file or an output, and no process of
  /// the same user can read its memory or trace it; root can. Call it before reading a secret. A
  /// program that this process starts, or becomes, is not affected.
  package static func keepMemorySecret() throws(SystemError) {
    try perform("keep other processes from this one's memory") { csystem_keep_memory_secret() }
  }

  /// From now on this process, and each program that it starts, leaves no core file.
  package static func forbidCores() throws(SystemError) {
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    try perform("forbid a core file") { unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none) }
  }

  /// Ends the process immediately, without waiting for other threads or releasing their resources
  /// in order.
  package static func exitNow(_ code: CInt) -> Never { _exit(code) }

  /// Makes the program's output visible line by line, also in a pipe.
  package static func bufferOutputByLine() { _ = csystem_buffer_lines() }

  /// From now on large blocks of memory return to the system as soon as they are free: for
  /// long-running processes.
  package static func keepLittleMemory() { csystem_keep_little_memory() }

  /// Returns the allocator's free memory to the system: a process that waits for days does not need
  /// it.
  package static func returnFreeMemory() { csystem_return_free_memory() }

  /// Hands the output that the C library has buffered to the kernel.
  package static func flushOutput() { fflush(nil) }

  /// The directory from which this process has loaded a library; nil if it has not loaded it.
  package static func directory(ofLibrary name: String) -> String? {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
      guard unsafe csystem_loaded_library(name, buffer.baseAddress!, buffer.count) != 0 else { return nil }
      let path = unsafe String(cString: buffer.baseAddress!)
      return path.lastIndex(of: "/").map { String(path[..<$0]) }
    }
  }

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

  /// Becomes another program, under this process's number; returns only with the reason for a
  /// failure.
  ///
  /// Descriptors that close on exec are closed, and a broken pipe ends the program again, as
  /// programs expect.
  package static func replace(
    with program: [UInt8], arguments: [[UInt8]], environment: [String: String]
  ) -> SystemError {
    let variables = environment.sorted { $0.key < $1.key }.map { Array("\($0.key)=\($0.value)".utf8) }
    var texts = CTexts()
    let argv = unsafe texts.list(arguments)
    let envp = unsafe texts.list(variables)
    defer { extendLifetime(texts) }
    let former = signal(SIGPIPE, SIG_DFL)
    defer { _ = signal(SIGPIPE, former) }
    do {
      try unsafe program.callingPath("start") { path in unsafe execve(path, argv, envp) }
      preconditionFailure("a program that was started does not return")
    } catch {
      return error
    }
  }
}

/// Texts for C code and the kernel, valid as long as this value.
@safe struct CTexts: ~Copyable {
  private var texts: [UnsafeMutablePointer<CChar>] = unsafe []

  mutating func add(_ text: [UInt8]) -> UnsafeMutablePointer<CChar> {
    let copy = UnsafeMutablePointer<CChar>.allocate(capacity: text.count + 1)
    for (index, byte) in text.enumerated() { unsafe copy[index] = CChar(bitPattern: byte) }
    unsafe copy[text.count] = 0
    unsafe texts.append(copy)
    return unsafe copy
  }

  mutating func add(_ text: String) -> UnsafeMutablePointer<CChar> { unsafe add(Array(text.utf8)) }

  /// Texts with a null pointer after the last.
  mutating func list(_ list: [[UInt8]]) -> [UnsafeMutablePointer<CChar>?] {
    var pointers: [UnsafeMutablePointer<CChar>?] = unsafe []
    for text in list { unsafe pointers.append(add(text)) }
    unsafe pointers.append(nil)
    return unsafe pointers
  }

  deinit {
    for index in unsafe texts.indices { unsafe texts[index].deallocate() }
  }
}

/// The environment variables of the program.
package enum Environment {
  /// A variable's value; nil if it is not set. Bytes that are not UTF-8 are replaced.
  package static func get(_ name: String) -> String? {
    unsafe getenv(name).map { unsafe String(cString: $0) }
  }

  /// A variable's value, unchanged, for paths.
  package static func bytes(_ name: String) -> [UInt8]? {
    unsafe getenv(name).map { value in
      unsafe Array(UnsafeRawBufferPointer(start: value, count: strlen(value)))
    }
  }
}
