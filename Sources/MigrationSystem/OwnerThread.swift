import CSystem
import Glibc

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
