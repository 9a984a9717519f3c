extension ChildProcess {
  /// The limits of its resources.
  package struct Limits: Sendable {
    package var files: UInt64 = 4096
    package var threads: UInt64 = 4096
    /// Memory in bytes, except of mapped files. The sanitizers reserve more for themselves.
    #if PEER_SANITIZED
      package var memory = UInt64.max
    #else
      package var memory: UInt64 = 8 << 30
    #endif

    package init() {}
  }

  /// The limit that a process has exceeded.
  package enum Excess: Equatable, Sendable {
    case threads(UInt64)
    case memory(UInt64)
  }
}

extension ChildProcess.Limits {
  /// The limit that a process exceeds, by its /proc/PID/status.
  func excess(_ status: String) -> ChildProcess.Excess? {
    var (threads, memory): (UInt64, UInt64) = (0, 0)
    // Such as "RssAnon:	    1234 kB".
    for line in status.split(separator: "\n") {
      let words = line.split(whereSeparator: \.isWhitespace)
      guard words.count > 1, let number = UInt64(words[1]) else { continue }
      switch words[0] {
      case "Threads:": threads = number
      case "RssAnon:", "RssShmem:", "VmSwap:": memory += number << 10
      default: break
      }
    }
    if threads > self.threads { return .threads(self.threads) }
    return memory > self.memory ? .memory(self.memory) : nil
  }
}
