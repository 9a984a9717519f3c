import Glibc

/// How a file is to be opened. Nothing here creates a file, or lets the kernel follow a link.
package struct OpenFlags: OptionSet, Sendable {
  package let rawValue: CInt

  package init(rawValue: CInt) {
    self.rawValue = rawValue
  }

  /// For reading; what no flag at all means too.
  package static let readOnly = OpenFlags([])
  /// For writing.
  package static let writeOnly = OpenFlags(rawValue: O_WRONLY)
  /// For both.
  package static let readWrite = OpenFlags(rawValue: O_RDWR)
  /// Every write without an offset goes to the end.
  package static let append = OpenFlags(rawValue: O_APPEND)
  /// Does not wait for the other end of a fifo.
  package static let nonBlocking = OpenFlags(rawValue: O_NONBLOCK)
  /// Refuses what is no directory.
  package static let directory = OpenFlags(rawValue: O_DIRECTORY)

  /// What the kernel is given. Who opens adds what keeps links from being followed.
  var kernelFlags: CInt { rawValue | O_CLOEXEC }
}
