import CSystem
import Glibc

/// Marks the threads of event loops, which wait only in their poll: a disk that does not answer
/// must not stop them.
package enum LoopThread {
  /// Marks this thread until it ends.
  package static func enter() { csystem_enter_loop() }

  /// Unmarks this thread, which ends its process: nothing waits for its loop any more.
  package static func leave() { csystem_leave_loop() }

  /// In debug builds, ends the process if a loop's thread is about to do something that may take
  /// long: a system call, or waiting for a lock that other threads hold during system calls.
  @inline(__always)
  package static func check(_ operation: String) {
    #if DEBUG
      precondition(csystem_is_loop() == 0 || brief.contains(operation), "a loop must not \(operation)")
    #endif
  }

  #if DEBUG
    /// Operations that no disk delays, and that the kernel answers immediately on non-blocking
    /// descriptors.
    private static let brief: Set<String> = [
      "look at descriptors", "wait for a loop's descriptors", "accept a connection", "send", "receive",
      "end a connection",
      "set a socket option", "read a socket option",
      "make an event", "make a timer", "set a timer", "get random bytes", "list the network interfaces",
      "start a thread", "find a route to", "listen on", "watch the network interfaces",
      "watch a descriptor", "move bytes", "make a pipe", "collect signals",
    ]
  #endif
}

/// A separate thread for blocking work: cooperative threads are few and must not block.
package final class OwnerThread: Sendable {
  /// Enough for code that does not recurse; untouched pages cost nothing.
  private static let stackSize = 512 << 10

  private let thread: Mutex<pthread_t?>

  /// Starts a thread. ps and debuggers show 15 bytes of its name.
  package init(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    var attributes = pthread_attr_t()
    unsafe pthread_attr_init(&attributes)
    defer { unsafe pthread_attr_destroy(&attributes) }
    unsafe pthread_attr_setstacksize(&attributes, max(Self.stackSize, sysconf(CInt(_SC_THREAD_STACK_MIN))))

    let start = unsafe Unmanaged.passRetained(Start(name: name, body: body))
    var thread = pthread_t()
    let code = unsafe pthread_create(&thread, &attributes, { unsafe Start.run($0) }, start.toOpaque())
    guard code == 0 else {
      unsafe start.release()
      throw SystemError(errno: code, operation: "start a thread")
    }
    self.thread = Mutex(thread)
  }

  deinit {
    // No thread is left to join it; it frees itself when it ends.
    if let thread = thread.withLock({ $0 }) { pthread_detach(thread) }
  }

  /// Returns when the thread has ended. A second call returns immediately.
  package func join() {
    LoopThread.check("wait for a thread")
    let joined = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    if let joined { pthread_join(joined, nil) }
  }

  /// The data for the new thread.
  private final class Start: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }

    static func run(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
      let start = unsafe Unmanaged<Start>.fromOpaque(pointer!).takeRetainedValue()
      _ = unsafe csystem_name_thread(start.name)
      start.body()
      return nil
    }
  }
}

extension TaskExecutor {
  /// The work of a job of this executor, for a thread of the executor's choice. It is done exactly
  /// once.
  package func work(of job: consuming ExecutorJob) -> @Sendable () -> Void {
    let job = UnownedJob(job)
    return { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
