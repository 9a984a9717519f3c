import CSystem
import Glibc

/// The only owner of a file descriptor, which it closes.
package struct Descriptor: ~Copyable, Sendable {
  /// The number, for calls that borrow it while this value exists.
  package let raw: CInt

  /// Takes ownership of an open descriptor.
  package init(owning raw: CInt) {
    precondition(raw >= 0, "not a descriptor")
    self.raw = raw
  }

  deinit {
    _ = Glibc.close(raw)
  }

  /// Gives the number away without closing it.
  package consuming func release() -> CInt {
    let number = raw
    discard self
    return number
  }

  /// Closes the descriptor, and reports errors that a network file system finds only then.
  ///
  /// The descriptor is closed in any case: Linux closes it even if the call fails.
  package consuming func close() throws(SystemError) {
    let number = release()
    if Glibc.close(number) == -1, errno != EINTR { throw SystemError(errno: errno, operation: "close") }
  }

  /// Lets programs that this process becomes or starts inherit the descriptor under its number.
  package func keepOnExec() throws(SystemError) {
    try perform("keep a descriptor open") { fcntl(raw, F_SETFD, 0) }
  }

  /// Another descriptor for the same open file, with the same offset and locks.
  package func duplicate() throws(SystemError) -> Descriptor { try Self.duplicate(of: raw) }

  /// Another descriptor for an open file that no value here owns: an inherited descriptor.
  package static func duplicate(of raw: CInt) throws(SystemError) -> Descriptor {
    Descriptor(owning: try calling("duplicate a descriptor") { csystem_duplicate(raw) })
  }
}

/// A descriptor that several owners keep open together.
package final class SharedDescriptor: Sendable {
  /// The descriptor, to be borrowed.
  package let descriptor: Descriptor

  /// Shares a descriptor.
  package init(_ descriptor: consuming Descriptor) {
    self.descriptor = descriptor
  }

  /// The number, for calls that borrow it while this object exists.
  package var raw: CInt { descriptor.raw }
}
