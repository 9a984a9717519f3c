import Glibc

/// Standard output or standard error, unbuffered.
package enum StandardStream: CInt, Sendable {
  case output = 1
  case error = 2

  /// The size that a pipe accepts at once if it accepts any bytes: PIPE_BUF.
  private static let piece = 4096

  /// Writes all of a text; waits if a non-blocking terminal or pipe is full.
  ///
  /// - Returns: false if there is no reader any more, or writing fails. Output for the user is
  ///   never worth ending a transfer for.
  @discardableResult
  package func write(_ text: String) -> Bool { Self.write(text.utf8.span, to: rawValue) }

  /// Whether it is a pipe or a connection whose other end is closed.
  package var hasLostReader: Bool {
    var record = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
    return unsafe poll(&record, 1, 0) == 1 && record.revents & Int16(POLLERR | POLLHUP) != 0
  }

  /// Writes to a descriptor as `write` does to one of the streams. `took` is called after each piece
  /// that is written.
  package static func write(_ bytes: Span<UInt8>, to raw: CInt, took: () -> Void = {}) -> Bool {
    unsafe bytes.withUnsafeBytes { buffer in
      var done = 0
      while done < buffer.count {
        let count = unsafe Glibc.write(raw, buffer.baseAddress! + done, min(piece, buffer.count - done))
        if count >= 0 {
          done += count
          took()
        } else if errno == EAGAIN {
          var record = pollfd(fd: raw, events: Int16(POLLOUT), revents: 0)
          _ = unsafe poll(&record, 1, -1)
        } else if errno != EINTR {
          return false
        }
      }
      return true
    }
  }

  /// Writes as many bytes as are accepted within this many milliseconds, and then returns.
  ///
  /// The descriptor may be shared with other processes, so its blocking mode is not changed: a
  /// descriptor that is ready for writing accepts a piece without waiting.
  package static func attempt(_ bytes: Span<UInt8>, to raw: CInt, within milliseconds: CInt) {
    let end = BootInstant.now().advanced(by: .milliseconds(Int(milliseconds)))
    unsafe bytes.withUnsafeBytes { buffer in
      var done = 0
      while done < buffer.count {
        var record = pollfd(fd: raw, events: Int16(POLLOUT), revents: 0)
        let rest = CInt(clamping: (end.nanoseconds - BootInstant.now().nanoseconds) / 1_000_000)
        guard unsafe poll(&record, 1, max(0, rest)) == 1, record.revents & Int16(POLLOUT) != 0 else { return }
        let count = unsafe Glibc.write(raw, buffer.baseAddress! + done, min(piece, buffer.count - done))
        if count < 0, errno != EINTR, errno != EAGAIN { return }
        done += max(0, count)
      }
    }
  }
}
