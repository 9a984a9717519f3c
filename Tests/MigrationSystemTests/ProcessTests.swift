import Expectations
import Glibc
import TestSupport
import Testing

@testable import MigrationSystem

@Suite struct ProcessTests {
  @Test func `the process knows itself`() throws {
    expect(CurrentProcess.id, is: getpid())
    expect(CurrentProcess.effectiveUserID, is: geteuid())
    expect(try CurrentProcess.umask() <= 0o777)
    expect(try !CurrentProcess.hostName().isEmpty)
    let limit = try CurrentProcess.raiseDescriptorLimit()
    expect(limit >= 64)
    expect(try CurrentProcess.raiseDescriptorLimit(), is: limit)
    expect(Environment.get("PATH") != nil)
    expect(Environment.get("PEER_NEVER_SET") == nil)
    expect(Environment.bytes("PATH"), is: Environment.get("PATH").map { Array($0.utf8) })
  }

  @Test func `a process exceeds a limit by its threads, or by all memory that is not a file's`() {
    let limits = ChildProcess.Limits()
    let most = 8 << 20
    func excess(threads: Int, _ anonymous: Int, shared: Int = 0, swapped: Int = 0) -> ChildProcess.Excess? {
      limits.excess(
        "Name:\tThreads: 9999\nRssAnon:\t\(anonymous) kB\nRssFile:\t99999999 kB\nRssShmem:\t \(shared) kB\n"
          + "VmSwap:\t  \(swapped) kB\nThreads:\t\(threads)\n")
    }
    expect(excess(threads: 4096, most) == nil)
    expect(excess(threads: 4097, 1), is: .threads(4096))
    #if !PEER_SANITIZED
      for one in [excess(threads: 1, most + 1), excess(threads: 1, 0, shared: most, swapped: 1)] {
        expect(one, is: .memory(8 << 30))
      }
    #endif
  }

  @Test func `random bytes do not repeat`() throws {
    expect(try SystemRandom.bytes(0).isEmpty)
    let one = try SystemRandom.bytes(1 << 20)
    expect(one.count, is: 1 << 20)
    expect(Set(one).count, is: 256)
    expect(try SystemRandom.bytes(16) != SystemRandom.bytes(16))
  }

  @Test func `a process becomes another program, with the given arguments, variables and descriptors`()
    async
  {
    await #expect(processExitsWith: .exitCode(42)) {
      // The testing library waits for this process without a deadline; the alarm ends it.
      alarm(UInt32(patience))
      SignalSource.ignoreBrokenPipe()
      let kept = try Directory.open("/proc")
      let other = try Directory.open("/proc")
      try kept.descriptor.keepOnExec()
      let script = """
        [ "$(env | grep -c -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD=)" = 1 ] && [ "$NAME" = "a=b" ] && [ "$2" = "c d" ] &&
        [ -e /proc/$$/fd/\(kept.raw) ] && ! [ -e /proc/$$/fd/\(other.raw) ] &&
        [ $(( 0x$(sed -n 's/^SigIgn:[^0-9a-f]*//p' /proc/$$/status) >> 12 & 1 )) = 0 ] && exit 42
        """
      throw CurrentProcess.replace(
        with: Array("/bin/sh".utf8), arguments: ["sh", "-c", script, "x", "y", "c d"].map { Array($0.utf8) },
        environment: ["NAME": "a=b"])
    }
  }

  @Test func `a process with secret memory leaves no core file, and its user's processes cannot read it`()
    async
  {
    await #expect(processExitsWith: .exitCode(42)) {
      alarm(UInt32(patience))
      try CurrentProcess.forbidCores()
      try CurrentProcess.keepMemorySecret()
      var core = rlimit()
      guard getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &core) == 0 else { exit(1) }
      guard core.rlim_cur == 0, core.rlim_max == 0 else { exit(2) }
      // The function takes any number of arguments, so it is not available in Swift. 3 is
      // PR_GET_DUMPABLE.
      typealias Call = @convention(c) (CInt, CUnsignedLong, CUnsignedLong, CUnsignedLong, CUnsignedLong) -> CInt
      let call = try unsafeBitCast(#require(dlsym(nil, "prctl")), to: Call.self)
      exit(call(3, 0, 0, 0, 0) == 0 ? 42 : 3)
    }
  }

  @Test func `a process with secret memory still ignores the signals that it ignored when it began`() async {
    await #expect(processExitsWith: .exitCode(42)) {
      alarm(UInt32(patience))
      signal(SIGQUIT, SIG_IGN)
      try CurrentProcess.keepMemorySecret()
      raise(SIGQUIT)
      exit(42)
    }
  }

  @Test func `a process cannot become a file that is not a program`() {
    let error = CurrentProcess.replace(with: Array("/proc/none".utf8), arguments: [], environment: [:])
    expect(error.errno, is: ENOENT)
    expect(error.description.hasPrefix("cannot start /proc/none"))
  }

  @Test func `a file is not a terminal`() throws {
    let scratch = try Scratch()
    let file = try scratch.directory.createFile("file")
    expect(!Terminal.isTerminal(file.raw))
    expect(Terminal.width(file.raw) == nil)
  }

  @Test func `lines are read one by one`() throws {
    let scratch = try Scratch()
    scratch.write("input", "first\n\nlast")
    let input = try scratch.directory.openChild("input")
    expect(try Terminal.readLine(from: input.raw), is: .line(Array("first".utf8)))
    expect(try Terminal.readLine(from: input.raw), is: .line([]))
    expect(try Terminal.readLine(from: input.raw), is: .line(Array("last".utf8)))
    expect(try Terminal.readLine(from: input.raw), is: .endOfInput)
  }

  @Test func `waiting for a line can be ended`() throws {
    var ends: [CInt] = [0, 0]
    expect(pipe(&ends), is: 0)
    let input = Descriptor(owning: ends[0])
    let writer = Descriptor(owning: ends[1])
    let wakeup = try Wakeup()
    wakeup.signal()
    expect(try Terminal.readLine(from: input.raw, unless: [wakeup.raw]), is: .interrupted)
    try writer.close()
  }

  @Test(.enabled(if: hasTerminals, "no terminals can be created here"))
  func `only Enter typed after the question counts`() throws {
    let terminal = try PseudoTerminal()
    let raw = terminal.program.raw
    try terminal.user.append("early\n".utf8.span)
    let reader = try RunningThread("reader") { try Terminal.waitForEnter(from: raw) }
    // Input before the start of the reader is discarded, too.
    repeat { try terminal.user.append("now\n".utf8.span) } while !reader.hasEnded(by: .now() + .milliseconds(20))
    expect(try reader.value(), is: .line(Array("now".utf8)))
  }

  @Test(.enabled(if: hasTerminals, "no terminals can be created here"))
  func `the wait for Enter ends at another event, and at the terminal's end`() throws {
    let terminal = try PseudoTerminal()
    let wakeup = try Wakeup()
    wakeup.signal()
    expect(try Terminal.waitForEnter(from: terminal.program.raw, unless: [wakeup.raw]), is: .interrupted)
    expect(Terminal.isInForeground(terminal.program.raw))
    let raw = terminal.program.raw
    let reader = try RunningThread("reader") { try Terminal.waitForEnter(from: raw) }
    repeat { try terminal.user.append([4].span) } while !reader.hasEnded(by: .now() + .milliseconds(20))
    expect(try reader.value(), is: .endOfInput)
  }
}

/// Both sides of a terminal.
private struct PseudoTerminal: ~Copyable {
  let user: Descriptor
  let program: Descriptor

  init() throws {
    var outside: CInt = -1
    var inside: CInt = -1
    try #require(openpty(&outside, &inside, nil, nil, nil) == 0)
    user = Descriptor(owning: outside)
    program = Descriptor(owning: inside)
  }
}
