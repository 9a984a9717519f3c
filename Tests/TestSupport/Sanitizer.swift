/// The sanitizers with which Lab/sanitize builds the tests.
package enum Sanitizer {
  /// Whether this build has one. It then reserves terabytes of addresses and keeps freed memory, so
  /// that the memory of a process says nothing about the program.
  package static var isUsed: Bool {
    #if PEER_SANITIZED
      true
    #else
      false
    #endif
  }
}
