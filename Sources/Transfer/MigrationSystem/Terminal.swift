import CSystem
import Glibc

/// The user's terminal.
package enum Terminal {
  /// The result of waiting for a line.
  package enum Line: Equatable, Sendable {
    /// A line, without its end.
    case line([UInt8])
    /// The input has ended.
    case endOfInput
    /// One of the other descriptors became readable first.
    case interrupted
  }

  /// Lines that people type are shorter; the rest would count as the next line.
  private static let longestLine = 4096

  /// Whether a descriptor is a terminal.
  package static func isTerminal(_ raw: CInt) -> Bool {
    isatty(raw) == 1
  }

  /// The number of columns of a terminal; nil if it is not a terminal or does not know.
  package static func width(_ raw: CInt) -> Int? {
    let columns = csystem_terminal_width(raw)
    return columns > 0 ? Int(columns) : nil
  }

  /// Waits for a line, byte by byte, so that no input behind it is consumed.
  /// - Parameter interruptions: descriptors that end the wait when they become readable, such as a
  ///   `SignalSource`.
  package static func readLine(
    from raw: CInt = STDIN_FILENO, unless interruptions: [CInt] = []
  ) throws(SystemError) -> Line {
    var poller = try Poller()
    var interests = [Poller.Interest(raw, .readable)] + interruptions.map { Poller.Interest($0, .readable) }
    var line: [UInt8] = []
    // A line that grows would leave copies of its bytes, and it may be a code.
    line.reserveCapacity(longestLine)
    while line.count < longestLine {
      _ = try poller.wait(&interests)
      if interests.dropFirst().contains(where: { !$0.ready.isEmpty }) { return .interrupted }
      var byte: UInt8 = 0
      let count: Int
      do {
        count = try calling("read") { unsafe read(raw, &byte, 1) }
      } catch let error where error.isWouldBlock {
        continue
      }
      if count == 0 { return line.isEmpty ? .endOfInput : .line(line) }
      if byte == UInt8(ascii: "\n") { return .line(line) }
      line.append(byte)
    }
    return .line(line)
  }

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
        return try readLine(from: raw, unless: interruptions)
      } catch {
        guard error.errno == EIO, !isInForeground(raw) else { throw error }
      }
    }
  }

  /// Forgets the input of a terminal that nothing has read yet, if this process is in its foreground.
  package static func forgetTyped(at raw: CInt) {
    let mask = Self.block(SIGTTOU)
    defer { Self.restore(mask) }
    if isInForeground(raw) { tcflush(raw, TCIFLUSH) }
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
