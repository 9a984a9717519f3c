import CSystem

/// Marks the threads of event loops, which wait for nothing but their poll: a disk that stands still must not stop them.
package enum LoopThread {
  /// Marks this thread for as long as it lives.
  package static func enter() { csystem_enter_loop() }

  /// Whether this thread is a loop's.
  package static var isCurrent: Bool { csystem_is_loop() != 0 }

  /// In debug builds, ends the process if a loop's thread is about to do what may take long.
  @inline(__always)
  static func check(_ operation: String) {
    #if DEBUG
      precondition(!isCurrent || brief.contains(operation), "a loop must not \(operation)")
    #endif
  }

  #if DEBUG
    /// What no disk delays, and what the kernel answers at once on descriptors that do not block.
    private static let brief: Set<String> = [
      "wait", "accept a connection", "send", "receive", "end a connection", "set a socket option",
      "read a socket option",
      "make an event", "make a timer", "set a timer", "get random bytes", "list the network interfaces",
      "start a thread",
    ]
  #endif
}
