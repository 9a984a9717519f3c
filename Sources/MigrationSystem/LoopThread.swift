import CSystem

/// Marks the threads of event loops, which wait for nothing but their poll: a disk that stands still must not stop them.
package enum LoopThread {
  /// Marks this thread for as long as it lives.
  package static func enter() { csystem_enter_loop() }

  /// Unmarks this thread, which ends its process: nothing waits for its loop any more.
  package static func leave() { csystem_leave_loop() }

  /// In debug builds, ends the process if a loop's thread is about to do what may take long: a system call, or waiting for a
  /// lock that others hold while they make one.
  @inline(__always)
  package static func check(_ operation: String) {
    #if DEBUG
      precondition(csystem_is_loop() == 0 || brief.contains(operation), "a loop must not \(operation)")
    #endif
  }

  #if DEBUG
    /// What no disk delays, and what the kernel answers at once on descriptors that do not block.
    private static let brief: Set<String> = [
      "look at descriptors", "wait for a loop's descriptors", "accept a connection", "send", "receive",
      "end a connection",
      "set a socket option", "read a socket option",
      "make an event", "make a timer", "set a timer", "get random bytes", "list the network interfaces",
      "start a thread", "find a route to", "listen on", "watch the network interfaces",
    ]
  #endif
}
