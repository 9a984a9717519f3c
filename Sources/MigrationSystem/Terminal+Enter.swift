import Glibc

extension Terminal {
  /// How long a background process waits before it checks whether it still is in the background, in
  /// milliseconds.
  private static let backgroundLook = 250

  /// Whether this process may read a terminal; the kernel would stop a process in the background of
  /// its shell.
  package static func isInForeground(_ raw: CInt) -> Bool {
    let group = tcgetpgrp(raw)
    // A terminal of another session does not stop processes.
    return group == getpgrp() || (group == -1 && errno == ENOTTY)
  }

  /// Waits for a line that is typed from now on. A process in the background of a shell leaves all
  /// input to the foreground, and is not stopped.
  /// - Parameter interruptions: descriptors that end the wait when they become readable.
  package static func waitForEnter(
    from raw: CInt, unless interruptions: [CInt] = []
  ) throws(SystemError) -> Line {
    // While these signals are blocked, reading in the background is an error and does not stop the
    // process.
    let mask = Self.block(SIGTTIN, SIGTTOU)
    defer { Self.restore(mask) }
    var poller = try Poller()
    var background = interruptions.map { Poller.Interest($0, .readable) }
    var isReading = false
    while true {
      guard isInForeground(raw) else {
        isReading = false
        if try poller.wait(&background, until: .now() + .milliseconds(backgroundLook)) { return .interrupted }
        continue
      }
      if !isReading {
        // Earlier input is not an answer.
        tcflush(raw, TCIFLUSH)
        isReading = true
      }
      var foreground = [Poller.Interest(raw, .readable)] + background
      _ = try poller.wait(&foreground)
      if foreground.dropFirst().contains(where: { !$0.ready.isEmpty }) { return .interrupted }
      // The process may have left the foreground while it waited; then the line belongs to another
      // process.
      guard isInForeground(raw) else { continue }
      do throws(SystemError) {
        return try readBytes(from: raw, unless: interruptions, until: nil)
      } catch {
        guard error.errno == EIO, !isInForeground(raw) else { throw error }
      }
    }
  }

  /// Blocks signals in the calling thread. Returns the signals that were blocked before.
  private static func block(_ signals: CInt...) -> sigset_t {
    var (set, before) = (sigset_t(), sigset_t())
    unsafe sigemptyset(&set)
    for signal in signals { unsafe sigaddset(&set, signal) }
    unsafe pthread_sigmask(SIG_BLOCK, &set, &before)
    return before
  }

  private static func restore(_ mask: sigset_t) {
    var mask = mask
    unsafe pthread_sigmask(SIG_SETMASK, &mask, nil)
  }
}
