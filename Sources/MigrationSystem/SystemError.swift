import CSystem
import Glibc

/// What the kernel, or the name service, refused to do.
///
/// The description is a lower-case clause that can follow "peer: error: ".
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kernel's error number; zero where `reason` says it all.
  package let errno: CInt
  /// What was being done: a verb that can follow "cannot".
  package let operation: String
  /// What it was being done to, already fit to be shown.
  package let subject: String?
  /// The cause in words, where it has no error number.
  package let reason: String?

  /// Describes a failed call.
  package init(errno: CInt, operation: String, subject: String? = nil) {
    self.errno = errno
    self.operation = operation
    self.subject = subject
    self.reason = nil
  }

  /// Describes a failure that has no error number.
  package init(reason: String, operation: String, subject: String? = nil) {
    self.errno = 0
    self.operation = operation
    self.subject = subject
    self.reason = reason
  }

  /// Something of that name was found where there must be nothing.
  package init(alreadyExisting operation: String) {
    self.init(errno: EEXIST, operation: operation)
  }

  /// There was nothing where something had been seen.
  package init(noSuchFile operation: String) {
    self.init(errno: ENOENT, operation: operation)
  }

  /// There is no such operation here.
  package static func unsupported(_ operation: String) -> SystemError {
    SystemError(errno: EOPNOTSUPP, operation: operation)
  }

  /// Something else stands where a directory was.
  package init(notADirectory operation: String) {
    self.init(errno: ENOTDIR, operation: operation)
  }

  /// The rights were missing, as somebody else found.
  package init(noPermission operation: String) {
    self.init(errno: EACCES, operation: operation)
  }

  /// The same error, with a subject that its catcher knows better.
  package func about(_ subject: String) -> SystemError {
    if let reason { return SystemError(reason: reason, operation: operation, subject: subject) }
    return SystemError(errno: errno, operation: operation, subject: subject)
  }

  package var description: String {
    let object = subject.map { " \($0)" } ?? ""
    return "cannot \(operation)\(object): \(words)"
  }

  /// Why, without what was being done: for those who say that themselves.
  package var words: String { reason ?? Self.text(of: errno) }

  /// The C library's words for an error number.
  package static func text(of errno: CInt) -> String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
      unsafe String(cString: csystem_error_text(errno, buffer.baseAddress!, buffer.count))
    }
  }
}

extension SystemError {
  /// Nothing could be done without waiting.
  package var isWouldBlock: Bool { errno == EAGAIN || errno == EWOULDBLOCK }
  /// A signal came first. Calls are repeated after one, so this is seldom seen.
  package var isInterrupted: Bool { errno == EINTR }
  /// There is nothing of that name.
  package var isNotFound: Bool { errno == ENOENT }
  /// There is something of that name already.
  package var isAlreadyExisting: Bool { errno == EEXIST }
  /// A name on the way is not a directory.
  package var isNotDirectory: Bool { errno == ENOTDIR }
  /// A directory stands where none may.
  package var isDirectory: Bool { errno == EISDIR }
  /// The directory still holds something.
  package var isNotEmpty: Bool { errno == ENOTEMPTY || errno == EEXIST }
  /// A symbolic link stood where none is followed.
  package var isSymbolicLink: Bool { errno == ELOOP }
  /// Rights are missing.
  package var isPermissionDenied: Bool { errno == EACCES || errno == EPERM }
  /// The file system, or our share of it, is full.
  package var isNoSpace: Bool { errno == ENOSPC || errno == EDQUOT }
  /// The disk failed, is full or has gone, or the process has run out of something: no item is at fault.
  package var isOfDisk: Bool {
    switch errno {
    case EIO, ENOSPC, EDQUOT, EROFS, ESTALE, ENODEV, ENXIO, ENOTCONN, ECONNABORTED, ECONNREFUSED, ECONNRESET,
      ETIMEDOUT, EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH, ESHUTDOWN, EREMOTEIO, EUCLEAN, ENOMEM, EMFILE, ENFILE,
      EINTR, EAGAIN, EBUSY:
      true
    default: false
    }
  }
  /// The two names lie on different file systems.
  package var isCrossDevice: Bool { errno == EXDEV }
  /// The file system has no hard links, or no more for this file.
  package var isLinkRefused: Bool { errno == EPERM || errno == EMLINK || isUnsupported }
  /// The file system does not know the flag of a rename. Some say the same of a name that they cannot hold.
  package var isRenameFlagRefused: Bool { errno == EINVAL || isUnsupported }
  /// The file system cannot synchronize this kind of thing.
  package var isSynchronizingRefused: Bool { errno == EINVAL || isUnsupported }
  /// The file system is to keep rights or times that it has no place for.
  package var isMetadataRefused: Bool { errno == EPERM || errno == EINVAL || isUnsupported }
  /// The kernel or the file system does not know the operation.
  package var isUnsupported: Bool { errno == ENOSYS || errno == EOPNOTSUPP }
  /// The process, or the machine, has no descriptor left.
  package var isDescriptorShortage: Bool { errno == EMFILE || errno == ENFILE }
  /// What was received is no packet of ours: it has no byte, or more than one may have. It is gone, and the next one can come.
  package var isMalformedPacket: Bool { errno == EBADMSG || errno == EMSGSIZE }
  /// Another socket has the port.
  package var isAddressInUse: Bool { errno == EADDRINUSE }
  /// Nobody listens there.
  package var isConnectionRefused: Bool { errno == ECONNREFUSED }
  /// No network leads there, or no device has the address.
  package var isUnreachable: Bool {
    switch errno {
    case ENETDOWN, ENETUNREACH, EHOSTDOWN, EHOSTUNREACH: true
    default: false
    }
  }
  /// The other end did not answer in the kernel's time.
  package var isTimedOut: Bool { errno == ETIMEDOUT }
  /// The network, or the other end, ended the connection or never let it begin.
  package var isConnectionLost: Bool {
    switch errno {
    case ECONNRESET, EPIPE, ETIMEDOUT, ECONNABORTED, ENOTCONN, ENETDOWN, ENETUNREACH, ENETRESET, EHOSTDOWN,
      EHOSTUNREACH:
      true
    default: false
    }
  }
}
