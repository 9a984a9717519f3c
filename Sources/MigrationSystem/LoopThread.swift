import CSystem

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
    ]
  #endif
}
