import Glibc

/// Standard output or standard error, unbuffered.
package enum StandardStream: CInt, Sendable {
  case output = 1
  case error = 2

  /// Writes all bytes, waiting where a non-blocking terminal or pipe is full.
  ///
  /// - Returns: false if nobody reads any more, or nothing can be written. What is shown to the user is
  ///   never worth ending a transfer for.
  @discardableResult
  package func write(_ bytes: RawSpan) -> Bool {
    unsafe bytes.withUnsafeBytes { buffer in
      var done = 0
      while done < buffer.count {
        let count = unsafe Glibc.write(rawValue, buffer.baseAddress! + done, buffer.count - done)
        if count >= 0 {
          done += count
        } else if errno == EAGAIN {
          var record = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
          _ = unsafe poll(&record, 1, -1)
        } else if errno != EINTR {
          return false
        }
      }
      return true
    }
  }

  /// Writes a text.
  @discardableResult
  package func write(_ text: String) -> Bool {
    unsafe write(text.utf8.span.bytes)
  }
}
