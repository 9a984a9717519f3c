package import Glibc
package import MigrationSystem

/// A process that a test starts; it ends with this object at the latest.
package final class SpawnedProcess: Sendable {
  /// Its number.
  package let id: pid_t
  private let program: String
  private let ending: RunningThread<Void>
  private let code = Mutex<CInt?>(nil)

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - words: its arguments, of which the first is its own name.
  ///   - environment: "NAME=value" each. If the lines of the tests are counted, those of the
  ///     process are too.
  ///   - descriptors: by the numbers that they have in the process; standard descriptors that are
  ///     not given lead nowhere.
  package init(
    _ program: String, _ words: [String], environment: [String] = [], descriptors: [CInt: CInt] = [:]
  ) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (number, descriptor) in descriptors { posix_spawn_file_actions_adddup2(&actions, descriptor, number) }
    for number in 0...2 as ClosedRange<CInt> where descriptors[number] == nil {
      posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
    }
    let copy = { (texts: [String]) in texts.map { (text: String) in strdup(text) } + [nil] }
    let (arguments, variables) = (copy(words), copy(environment))
    defer { for text in arguments + variables { free(text) } }
    var process: pid_t = 0
    let error = posix_spawn(&process, program, &actions, nil, arguments, variables)
    guard error == 0 else { throw SystemError(errno: error, operation: "start \(program)") }
    let started = process
    id = started
    self.program = program
    // The process stays a zombie until its exit code is read, so no other process gets its number
    // until then.
    ending = try RunningThread("end of \(program)") {
      var information = siginfo_t()
      while waitid(P_PID, id_t(started), &information, WEXITED | WNOWAIT) == -1, errno == EINTR {}
    }
  }

  deinit {
    // Once its exit code is read, another process may have its number.
    guard code.withLock({ $0 }) == nil else { return }
    kill(id, SIGKILL)
    if ending.hasEnded() { _ = reap() }
  }

  /// Waits for the process. Returns its exit code, or the negative number of the signal that ended
  /// it.
  package func exitCode(until deadline: BootInstant = soon()) throws -> CInt {
    guard ending.hasEnded(by: deadline) else { throw TookTooLong("the end of the process of \(program)") }
    return reap()
  }

  private func reap() -> CInt {
    code.withLock { code in
      if let code { return code }
      var status: CInt = 0
      while waitpid(id, &status, 0) == -1, errno == EINTR {}
      let ended = status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F)
      code = ended
      return ended
    }
  }
}

/// Runs a program with an input until it ends. Returns its exit code and its standard output.
package func run(
  _ program: String, _ words: [String], environment: [String] = [], input: [UInt8] = []
) throws -> (code: CInt, output: [UInt8]) {
  let scratch = try Scratch()
  scratch.write("input", input)
  scratch.write("output", [])
  // Files accept all data immediately; pipes would have to be filled and emptied at the same time.
  let source = try scratch.directory.openChild("input")
  let target = try scratch.directory.openChild("output", .readWrite)
  let process = try SpawnedProcess(
    program, words, environment: environment, descriptors: [0: source.raw, 1: target.raw])
  let code = try process.exitCode()
  return (code, scratch.read("output"))
}

/// The path of a program of this package, which is built next to the tests.
package func builtProgram(_ name: String) throws -> String {
  var bytes = [UInt8](repeating: 0, count: 4096)
  let count = bytes.withUnsafeMutableBytes {
    readlink("/proc/self/exe", $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
  }
  guard count > 0, let end = bytes[..<count].lastIndex(of: UInt8(ascii: "/")) else {
    throw SystemError(errno: errno, operation: "find the tests' own program")
  }
  return String(decoding: bytes[...end], as: UTF8.self) + name
}
