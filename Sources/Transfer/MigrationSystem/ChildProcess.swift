import CSystem
import Glibc

/// A process that this one has started and waits for.
///
/// The kernel kills it when the thread that started it ends, so that thread must exist until the
/// process has ended.
package struct ChildProcess: ~Copyable, Sendable {
  /// The program to start, and its settings.
  package struct Settings: Sendable {
    package var executable: String
    package var arguments: [String]
    package var environment: [String: String]
    /// The current directory.
    package var directory: String
    /// The confinement; nil for a process with all the rights of this one.
    package var confinement: Confinement?
    package var limits = Limits()

    package init(
      executable: String, arguments: [String], environment: [String: String], directory: String,
      confinement: Confinement?
    ) {
      self.executable = executable
      self.arguments = arguments
      self.environment = environment
      self.directory = directory
      self.confinement = confinement
    }
  }

  /// The descriptors that it gets, and no others.
  package struct Endowment: ~Copyable {
    /// Its standard input; nil for an empty one, which a confined process always has.
    package let input: Descriptor?
    package let output: Descriptor
    package let error: Descriptor
    /// Descriptor 3.
    package let channel: Descriptor
    /// Descriptor 4.
    package let lock: Descriptor?

    package init(
      input: consuming Descriptor? = nil, output: consuming Descriptor, error: consuming Descriptor,
      channel: consuming Descriptor, lock: consuming Descriptor?
    ) {
      self.input = input
      self.output = output
      self.error = error
      self.channel = channel
      self.lock = lock
    }
  }

  /// The number of the channel's descriptor in the child.
  package static let channelNumber: CInt = 3

  /// The way a process ended.
  package enum End: Equatable, Sendable {
    case exited(CInt)
    case signalled(CInt)
    /// It exceeded a limit, and was killed.
    case excessive(Excess)
  }

  /// The name that CSpawn.c gives the stage in which the program itself is started.
  fileprivate static let lastStage = "start it"

  #if PEER_SANITIZED
    /// With these, a process ends as it does without a sanitizer: a confined one cannot search its
    /// memory for leaks. A report ends it, so that the test that started it fails.
    private static let variables = [
      "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0", "TSAN_OPTIONS": "handle_segv=0:halt_on_error=1",
      "UBSAN_OPTIONS": "handle_segv=0:halt_on_error=1",
    ]
  #else
    private static let variables: [String: String] = [:]
  #endif

  package let id: CInt
  private let process: Descriptor
  private let limits: Limits
  private let calls: AttributeCalls?

  /// Starts a process from the calling thread; the process ends with that thread. A confined
  /// process may put calls to the thread (`callsDescriptor`), which from then on has no more of
  /// root's rights than that process.
  package init(_ settings: Settings, _ endowment: borrowing Endowment) throws(SystemError) {
    var number: CInt = -1
    var listener: CInt = -1
    var stage: UnsafePointer<CChar>?
    let rules = settings.confinement?.rules ?? []
    var texts = CTexts()
    var cRules: [csystem_rule] = unsafe []
    for rule in rules {
      unsafe cRules.append(
        csystem_rule(path: texts.add(rule.path), access: rule.access.number, is_optional: rule.isOptional ? 1 : 0))
    }
    let arguments = unsafe texts.list(([settings.executable] + settings.arguments).map { Array($0.utf8) })
    let variables = settings.environment.merging(Self.variables) { $1 }
    let environment = unsafe texts.list(
      variables.sorted { $0.key < $1.key }.map { Array("\($0.key)=\($0.value)".utf8) })
    let executable = unsafe texts.add(settings.executable)
    let directory = unsafe texts.add(settings.directory)
    let changeable = unsafe settings.confinement?.changeable.map { unsafe texts.add($0) }
    let attributeGuard = settings.confinement?.attributeGuard
    let directories =
      attributeGuard == .answers ? try AttributeCalls.directories(of: rules.filter { $0.access == .write }) : []
    let id = unsafe arguments.withUnsafeBufferPointer { arguments in
      unsafe environment.withUnsafeBufferPointer { environment in
        unsafe cRules.withUnsafeBufferPointer { rules in
          var what = unsafe csystem_spawn(
            executable: executable, arguments: arguments.baseAddress, environment: environment.baseAddress,
            directory: directory, input: Self.number(endowment.input), channel: endowment.channel.raw,
            lock: Self.number(endowment.lock),
            output: endowment.output.raw, error: endowment.error.raw,
            is_confined: settings.confinement == nil ? 0 : 1, rules: rules.baseAddress, rule_count: rules.count,
            is_sealed: attributeGuard == .mounts ? 1 : 0, changeable: changeable,
            is_answered: attributeGuard == .answers ? 1 : 0, files: settings.limits.files,
            memory: settings.limits.memory)
          return unsafe csystem_start(&what, &number, &listener, &stage)
        }
      }
    }
    let error = errno
    extendLifetime(texts)
    guard id > 0 else {
      let what = unsafe stage.map { unsafe String(cString: $0) } ?? "start it"
      throw SystemError(errno: error, operation: what, subject: settings.executable.escapedText)
    }
    self.id = id
    limits = settings.limits
    process = Descriptor(owning: number)
    calls = listener == -1 ? nil : AttributeCalls(Descriptor(owning: listener), in: directories)
  }

  /// The descriptor that becomes readable when the process ends.
  package var raw: CInt { process.raw }

  /// The descriptor that becomes readable when a call of the process waits for `answer`; -1 if it
  /// makes all its calls itself.
  package var callsDescriptor: CInt {
    switch calls {
    case .some(let calls): calls.raw
    case .none: -1
    }
  }

  /// Makes the waiting call of the process, and answers with its result.
  package func answer() {
    switch calls {
    case .some(let calls): calls.answer()
    case .none: break
    }
  }

  /// The limit that it exceeds now, of those that the kernel does not keep for a single process;
  /// nil if there is none, or if the process has ended.
  package var excess: Excess? {
    guard let file = try? Descriptor.open(Array("/proc/\(id)/status".utf8)) else { return nil }
    return (try? file.readToEnd(limit: 16 << 10)).flatMap { limits.excess(String(decoding: $0, as: UTF8.self)) }
  }

  /// Kills the process; without effect if it has ended.
  package func kill() {
    _ = csystem_kill(process.raw)
  }

  /// Waits until the process has ended. Called once.
  package func wait() throws(SystemError) -> End {
    let status = try calling("wait for a process") { csystem_wait(id) }
    return status < 256 ? .exited(status) : .signalled(status - 256)
  }
}

extension SystemError {
  /// Whether the program to start is the cause: it, or its loader, does not exist, it is not
  /// executable, or it is not a program.
  package var isOfProgram: Bool {
    operation == ChildProcess.lastStage && (errno == ENOENT || errno == EACCES || errno == ENOEXEC)
  }

  /// The program could not be run because a process has it open for writing.
  package var isBeingWritten: Bool { operation == ChildProcess.lastStage && errno == ETXTBSY }
}

extension ChildProcess {
  /// The time that a killed process may take to end.
  private static let afterKill = Duration.seconds(1)

  /// Waits until it has ended, and kills it at the deadline; then nil. Called in place of `wait`.
  package func end(by deadline: BootInstant) throws(SystemError) -> End? {
    var poller = try Poller()
    if try !poller.wait(for: .readable, on: raw, until: deadline).isEmpty { return try wait() }
    kill()
    // A process that hangs in a system call, because of a disk that does not answer, is left
    // behind.
    if try !poller.wait(for: .readable, on: raw, until: .now().advanced(by: Self.afterKill)).isEmpty {
      _ = try wait()
    }
    return nil
  }

  /// Runs a program with an environment of its own and with all rights of this process; returns its
  /// output. A run that fails, writes more than the limit or takes longer than `patience` is an error.
  ///
  /// - Parameter input: its standard input; nil for an empty one.
  package static func run(
    _ program: String, _ arguments: [String], environment: [String: String], input: consuming Descriptor? = nil,
    limit: Int, patience: Duration
  ) throws(SystemError) -> [UInt8] {
    let deadline = BootInstant.now() + patience
    var pipe = try Descriptor.pipe()
    let reading = pipe.takeReadEnd()
    let process = try ChildProcess(
      Settings(
        executable: program, arguments: arguments, environment: environment, directory: "/", confinement: nil),
      Endowment(
        input: input, output: pipe.takeWriteEnd(), error: try Descriptor.open("/dev/null", .readWrite),
        channel: try Descriptor.open("/dev/null", .readWrite), lock: nil))
    var output: [UInt8]?
    var failure: SystemError?
    do throws(SystemError) { output = try reading.readToEnd(limit: limit, until: deadline) } catch { failure = error }
    // Kills it at the deadline, or at once.
    let end = try process.end(by: output == nil ? .now() : deadline)
    guard let output else { throw failure ?? SystemError(reason: "it cannot be read", operation: "run") }
    guard case .exited(0) = end else {
      throw SystemError(reason: "it has failed", operation: "run", subject: program.escapedText)
    }
    return output
  }

  fileprivate static func number(_ descriptor: borrowing Descriptor?) -> CInt {
    switch descriptor {
    case .some(let descriptor): descriptor.raw
    case .none: -1
    }
  }
}

extension Confinement.Access {
  fileprivate var number: csystem_access {
    switch self {
    case .read: csystem_access_read
    case .execute: csystem_access_execute
    case .write: csystem_access_write
    }
  }
}

extension Descriptor {
  /// The two blocking ends of a pipe.
  package static func pipe() throws(SystemError) -> Pipe {
    var raw: [CInt] = [-1, -1]
    try perform("make a pipe") { unsafe csystem_pipe(&raw) }
    return Pipe(readEnd: Descriptor(owning: raw[0]), writeEnd: Descriptor(owning: raw[1]))
  }

  package struct Pipe: ~Copyable {
    fileprivate var readEnd: Descriptor?
    fileprivate var writeEnd: Descriptor?

    /// Gives one end away, once.
    package mutating func takeReadEnd() -> Descriptor { readEnd.take()! }
    /// Gives one end away, once.
    package mutating func takeWriteEnd() -> Descriptor { writeEnd.take()! }
  }

  /// Whether a descriptor from another process is open for reading and does not only represent a
  /// path.
  package var isReadable: Bool {
    let mode = csystem_access_mode(raw)
    return mode == O_RDONLY || mode == O_RDWR
  }
}
