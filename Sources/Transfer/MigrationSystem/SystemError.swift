import CSystem
import Glibc

/// A failed operation of the kernel or of the name service.
///
/// The description is a lower-case clause that can follow "peer: error: ".
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kernel's error number; zero if `reason` gives the cause.
  package let errno: CInt
  /// The operation: a verb that can follow "cannot".
  package let operation: String
  /// The object of the operation, already escaped for display.
  package let subject: String?
  /// The cause in words, if it has no error number.
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

  /// A name that must be free is taken.
  package init(alreadyExisting operation: String) {
    self.init(errno: EEXIST, operation: operation)
  }

  /// An item that had been seen does not exist.
  package init(noSuchFile operation: String) {
    self.init(errno: ENOENT, operation: operation)
  }

  /// The operation does not exist here.
  package static func unsupported(_ operation: String) -> SystemError {
    SystemError(errno: EOPNOTSUPP, operation: operation)
  }

  /// A directory was replaced by another type.
  package init(notADirectory operation: String) {
    self.init(errno: ENOTDIR, operation: operation)
  }

  /// Permissions were missing, as another process found.
  package init(noPermission operation: String) {
    self.init(errno: EACCES, operation: operation)
  }

  /// The same error, with a subject that the catching code knows better.
  package func about(_ subject: String) -> SystemError {
    if let reason { return SystemError(reason: reason, operation: operation, subject: subject) }
    return SystemError(errno: errno, operation: operation, subject: subject)
  }

  package var description: String {
    let object = subject.map { " \($0)" } ?? ""
    return "cannot \(operation)\(object): \(words)"
  }

  /// The cause, without the operation, for callers that describe the operation themselves.
  package var words: String { reason ?? Self.text(of: errno) }

  /// The C library's text for an error number.
  package static func text(of errno: CInt) -> String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
      unsafe String(cString: csystem_error_text(errno, buffer.baseAddress!, buffer.count))
    }
  }

  /// The kernel's error number, as the other device is told it; nil without one.
  package var number: UInt16? { errno > 0 ? UInt16(clamping: errno) : nil }

  /// The operation would have to wait.
  package var isWouldBlock: Bool { errno == EAGAIN || errno == EWOULDBLOCK }
  /// The descriptor is not open for this.
  package var isWrongDescriptor: Bool { errno == EBADF }
  /// The name does not exist.
  package var isNotFound: Bool { errno == ENOENT }
  /// The name already exists.
  package var isAlreadyExisting: Bool { errno == EEXIST }
  /// A component of the path is not a directory.
  package var isNotDirectory: Bool { errno == ENOTDIR }
  /// The item is a directory, which is not permitted here.
  package var isDirectory: Bool { errno == EISDIR }
  /// The directory is not empty.
  package var isNotEmpty: Bool { errno == ENOTEMPTY || errno == EEXIST }
  /// The item is a symbolic link, which is not followed here.
  package var isSymbolicLink: Bool { errno == ELOOP }
  /// Permissions are missing.
  package var isPermissionDenied: Bool { errno == EACCES || errno == EPERM }
  /// The file system, or the user's quota, is full.
  package var isNoSpace: Bool { errno == ENOSPC || errno == EDQUOT }
  /// The disk failed, is full or was removed, or the process has run out of a resource: no item is
  /// the cause.
  package var isOfDisk: Bool {
    switch errno {
    case EIO, ENOSPC, EDQUOT, EROFS, ESTALE, ENODEV, ENXIO, ENOTCONN, ECONNABORTED, ECONNREFUSED, ECONNRESET,
      ETIMEDOUT, EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH, ESHUTDOWN, EREMOTEIO, EUCLEAN, ENOMEM, EMFILE, ENFILE,
      EINTR, EAGAIN, EBUSY:
      true
    default: false
    }
  }
  /// The file system has no hard links, or allows no more for this file.
  package var isLinkRefused: Bool { errno == EPERM || errno == EMLINK || isUnsupported }
  /// The file system does not know the rename flag. Some return the same error for a name that they
  /// cannot hold.
  package var isRenameFlagRefused: Bool { errno == EINVAL || isUnsupported }
  /// The file system cannot synchronize this kind of item.
  package var isCopyRefused: Bool { errno == EXDEV || errno == EINVAL || isUnsupported }
  package var isSynchronizingRefused: Bool { errno == EINVAL || isUnsupported }
  /// The file system cannot store such permissions or times.
  package var isMetadataRefused: Bool { errno == EPERM || errno == EINVAL || isUnsupported }
  /// The kernel or the file system does not know the operation.
  package var isUnsupported: Bool { errno == ENOSYS || errno == EOPNOTSUPP }
  /// The process, or the machine, has no descriptor left.
  package var isDescriptorShortage: Bool { errno == EMFILE || errno == ENFILE }
  /// The received packet is invalid: it is empty, or longer than permitted. It has been removed,
  /// and the next one can come.
  package var isMalformedPacket: Bool { errno == EBADMSG || errno == EMSGSIZE }
  /// Another socket has the port.
  package var isAddressInUse: Bool { errno == EADDRINUSE }
  /// No program listens there.
  package var isConnectionRefused: Bool { errno == ECONNREFUSED }
  /// No route leads there, or no device has the address.
  package var isUnreachable: Bool {
    switch errno {
    case ENETDOWN, ENETUNREACH, EHOSTDOWN, EHOSTUNREACH: true
    default: false
    }
  }
  /// The other end did not answer within the kernel's time.
  package var isTimedOut: Bool { errno == ETIMEDOUT }
  /// The network, or the other end, ended the connection or prevented it.
  package var isConnectionLost: Bool {
    switch errno {
    case ECONNRESET, EPIPE, ETIMEDOUT, ECONNABORTED, ENOTCONN, ENETDOWN, ENETUNREACH, ENETRESET, EHOSTDOWN,
      EHOSTUNREACH:
      true
    default: false
    }
  }

  /// A file would exceed the file system's limit.
  package var isTooLarge: Bool { errno == EFBIG || errno == EOVERFLOW }
  /// A name, or the target of a link, is too long.
  package var isTooLong: Bool { errno == ENAMETOOLONG }
  /// A name is invalid in the file system's encoding.
  package var isEncodingRefused: Bool { errno == EILSEQ }
  /// The file system considers the call invalid.
  package var isInvalid: Bool { errno == EINVAL }
  /// A directory or a file has the most names possible.
  package var isLinkCountExceeded: Bool { errno == EMLINK }

  /// The disk, the connection to it or this process has a problem, so the call shows nothing about
  /// the abilities of the file system.
  package var saysNothingOfAbilities: Bool {
    switch errno {
    case EIO, ENOSPC, EDQUOT, EROFS, ENOMEM, EMFILE, ENFILE, EINTR, EAGAIN, EBUSY, ESTALE, ENODEV, ENXIO, EREMOTEIO,
      ENOLINK, ENOMEDIUM:
      true
    default: isConnectionLost
    }
  }
}

extension Error {
  /// Evaluates an expression, and turns its error into another one.
  package static func mapped<Result: ~Copyable, Other: Error>(
    _ body: @autoclosure () throws(Self) -> Result, _ other: (Self) -> Other
  ) throws(Other) -> Result {
    do {
      return try body()
    } catch {
      throw other(error)
    }
  }
}

extension Descriptor {
  /// Whether a file on the open file's file system may have this size. Writes nothing.
  ///
  /// Moves the offset at which `append` writes.
  package func mayReach(_ size: Int64) -> Bool {
    // The kernel keeps the offset within the file system's largest file size.
    lseek(raw, off_t(size), SEEK_SET) != -1 || errno != EINVAL && errno != EOVERFLOW && errno != EFBIG
  }
}
