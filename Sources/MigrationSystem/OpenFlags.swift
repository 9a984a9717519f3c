import Glibc

/// The mode for opening a file. No flag creates a file, or lets the kernel follow a link.
package struct OpenFlags: OptionSet, Sendable {
  package let rawValue: CInt

  package init(rawValue: CInt) {
    self.rawValue = rawValue
  }

  /// For reading, which is also the meaning of no flags.
  package static let readOnly = OpenFlags([])
  /// For writing.
  package static let writeOnly = OpenFlags(rawValue: O_WRONLY)
  /// For both.
  package static let readWrite = OpenFlags(rawValue: O_RDWR)
  /// Every write without an offset goes to the end.
  package static let append = OpenFlags(rawValue: O_APPEND)
  /// Does not wait for the other end of a fifo.
  package static let nonBlocking = OpenFlags(rawValue: O_NONBLOCK)
  /// Fails if it is not a directory.
  package static let directory = OpenFlags(rawValue: O_DIRECTORY)

  /// The flags for the kernel. The opening functions add the flags that prevent following links.
  var kernelFlags: CInt { rawValue | O_CLOEXEC }
}
