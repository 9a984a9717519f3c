import AppMigrationKit
import Glibc

/// Tries to leave the sandbox by calls that no rule about files covers, and reports the results.
struct Escape {
  /// A file that does not belong to the extension, or its directory.
  let outside: String
  let documents: URL

  func tryAll(_ archiver: ResourcesArchiver) async throws {
    let host = Int(getppid())
    tell("outlive the host", call("prctl", 1, 0) == 0)
    tell("unlock", flock(4, LOCK_UN) == 0)
    tell("copy the lock", dup(4) >= 0 || dup2(4, 20) >= 0 || call("fcntl", 4, Int(F_DUPFD), 0) >= 0)
    var pair: [CInt] = [0, 0]
    tell("make a pair of sockets", socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0, &pair) == 0)
    tell("signal the host", kill(pid_t(host), 0) == 0)
    tell("signal its own process", kill(getpid(), 0) != 0, expected: "done")
    tell("limit the host", limit(host))
    tell("find the user's keys", call("syscall", 250, 0, -3, 0) > 0)
    tell("write to the lock", write(4, "x", 1) >= 0)
    let flags = MAP_SHARED | MAP_ANONYMOUS
    tell("share memory without a file", mmap(nil, 4096, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED)
    tell("share memory", shmget(0x7065_6572, 4096, 0o1600) >= 0)
    tell("read the host's environment", FileManager.default.contents(atPath: "/proc/\(host)/environ")?.isEmpty == false)
    tell("watch outside", inotify_add_watch(inotify_init1(0), outside, 0xFFF) >= 0)
    do {
      try await archiver.appendItem(at: URL(filePath: "/proc/self/task"), pathInArchive: "task")
      tell("append what the kernel tells of processes", true)
    } catch {
      tell("append what the kernel tells of processes", false)
    }
    try await archiver.appendItem(at: documents)
  }

  /// Tries to change the attributes of files, not their contents.
  func tryAttributes() {
    tell("change the mode outside", chmod(outside, 0o777) == 0)
    tell("change the time outside", utimes(outside, nil) == 0)
    tell("change the owner outside", chown(outside, getuid(), getgid()) == 0)
  }

  private func tell(_ what: String, _ isDone: Bool, expected: String = "refused") {
    print("\(what): \(isDone ? "DONE" : expected)")
  }

  private func limit(_ process: Int) -> Bool {
    var former = rlimit()
    return withUnsafeMutablePointer(to: &former) { call("prlimit", process, 7, 0, Int(bitPattern: $0)) } == 0
  }

  /// Calls a C function with a variable number of arguments, which Swift cannot import.
  private func call(_ name: String, _ one: Int = 0, _ two: Int = 0, _ three: Int = 0, _ four: Int = 0) -> Int {
    guard let function = dlsym(nil, name) else { return -1 }
    typealias Function = @convention(c) (Int, Int, Int, Int) -> Int
    let result = unsafeBitCast(function, to: Function.self)(one, two, three, four)
    return Int(CInt(truncatingIfNeeded: result))
  }
}
