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

  /// Closes the open file while other code still has this value: its calls fail from then on.
  ///
  /// A server keeps the name of a removed file as long as the file is open (NFS as `.nfs…`, CIFS
  /// unchanged), and the file's directory with it.
  package func letGo() throws(SystemError) {
    try perform("let go") { csystem_let_go(raw) }
  }

  /// Opens a path, absolute or relative to the current directory, to an item of any type. Links in
  /// directories are followed; a link as the last component is an error.
  package static func open(
    _ path: some PathBytes & ~Escapable, _ flags: OpenFlags = .readOnly
  ) throws(SystemError) -> Descriptor {
    let raw = try unsafe path.callingPath("open") {
      unsafe Glibc.open($0, flags.kernelFlags | O_NOFOLLOW | O_NOCTTY)
    }
    return Descriptor(owning: raw)
  }

  /// Opens a path from the user, follows links, and waits for the other end of a FIFO, so that
  /// /dev/stdin and shell substitutions work.
  package static func openThroughLinks(
    _ path: some PathBytes & ~Escapable, _ flags: OpenFlags = .readOnly
  ) throws(SystemError) -> Descriptor {
    let raw = try unsafe path.callingPath("open") {
      unsafe Glibc.open($0, flags.kernelFlags & ~O_NONBLOCK | O_NOCTTY)
    }
    return Descriptor(owning: raw)
  }

  /// Refuses a descriptor that leads to anything but a regular file, unless the flags allow it: a FIFO
  /// or a device that another user has laid under a name. It was opened without waiting, and is asked
  /// now, since its name may lead elsewhere by now.
  consuming func refusedUnlessRegular(
    _ subject: @autoclosure () -> String, opened flags: OpenFlags = .readOnly
  ) throws(SystemError) -> Descriptor {
    if flags.isDisjoint(with: [.directory, .anyKind]), try status().kind != .regular {
      throw SystemError(reason: "it is not a regular file", operation: "open", subject: subject())
    }
    return self
  }

  /// Standard input, as a new descriptor.
  package static func standardInput() throws(SystemError) -> Descriptor {
    let raw = try calling("open", "standard input") { fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) }
    return Descriptor(owning: raw)
  }

  /// Takes ownership of a descriptor number that the program was started with, and closes it in
  /// programs that this process starts.
  package static func inherited(_ raw: CInt) throws(SystemError) -> Descriptor {
    try perform("take over an inherited descriptor") { fcntl(raw, F_SETFD, FD_CLOEXEC) }
    return Descriptor(owning: raw)
  }

  /// How long a killed process may still hold a lock until the kernel closes its files.
  package static let patience = Duration.milliseconds(500)
  private static let pause = Duration.milliseconds(20)

  /// Locks a file or directory. Waits a moment for a process that is ending to release the lock;
  /// false if another process still has it.
  package func lockOnceFree(exclusive: Bool = true, within patience: Duration = patience) throws(SystemError) -> Bool {
    let deadline = BootInstant.now() + patience
    var poller = try Poller()
    while try !lock(exclusive: exclusive) {
      guard BootInstant.now() < deadline else { return false }
      var nothing: [Poller.Interest] = []
      _ = try poller.wait(&nothing, until: BootInstant.now() + Self.pause)
    }
    return true
  }

  /// Returns when content and metadata are on the disk; for a directory, its names.
  package func synchronize() throws(SystemError) {
    try synchronizing { () throws(SystemError) in try perform("synchronize") { fsync(raw) } }
  }

  /// Returns when the content, and the metadata needed to read it, are on the disk.
  package func synchronizeData() throws(SystemError) {
    try synchronizing { () throws(SystemError) in try perform("synchronize") { fdatasync(raw) } }
  }

  /// Returns when all data written to the file system, by any process, is on the disk.
  ///
  /// If the kernel cannot do that for one file system, it does it for all.
  package func synchronizeFileSystem() throws(SystemError) {
    do {
      try perform("synchronize the file system") { csystem_sync_file_system(raw) }
    } catch {
      guard error.isSynchronizingRefused else { throw error }
      sync()
    }
  }

  /// Synchronizes one item, or the whole file system if it cannot synchronize this item: some
  /// cannot synchronize directories.
  private func synchronizing(_ one: () throws(SystemError) -> Void) throws(SystemError) {
    do {
      try one()
    } catch {
      guard error.isSynchronizingRefused else { throw error }
      try synchronizeFileSystem()
    }
  }

  /// The kernel's status of the open file.
  package func status() throws(SystemError) -> FileStatus {
    var status = stat()
    try perform("examine") { unsafe fstat(raw, &status) }
    return FileStatus(status)
  }

  /// The same, requested from the server or daemon behind the file system: the kernel's cache may
  /// be out of date.
  package func freshStatus() throws(SystemError) -> FileStatus {
    var status = stat()
    try perform("examine") { unsafe csystem_fresh_status(raw, &status) }
    return FileStatus(status)
  }

  /// The file system that holds the open file: a number that usually stays the same after a
  /// restart, or zero if there is none, and the kernel's number of its type.
  package func fileSystem() throws(SystemError) -> (identifier: UInt64, type: UInt64) {
    var (identifier, type): (UInt64, UInt64) = (0, 0)
    try perform("examine the file system") { unsafe csystem_file_system(raw, &identifier, &type) }
    return (identifier, type)
  }

  /// The UUID of the file system that holds the open file, if the kernel tells it.
  func fileSystemUUID() -> String? {
    var (high, low): (UInt64, UInt64) = (0, 0)
    guard unsafe csystem_file_system_uuid(raw, &high, &low) == 0 else { return nil }
    let digits = [high, low].map { number in
      let text = String(number, radix: 16)
      return String(repeating: "0", count: 16 - text.count) + text
    }.joined()
    let ends = [8, 12, 16, 20, 32]
    return zip([0] + ends, ends).map { String(digits.dropFirst($0).prefix($1 - $0)) }.joined(separator: "-")
  }

  /// Sets the twelve permission bits.
  package func setMode(_ mode: UInt32) throws(SystemError) {
    try perform("set the mode") { fchmod(raw, mode) }
  }

  /// Sets the modification time, and the access time to now.
  package func setTimes(modified: Timestamp) throws(SystemError) {
    try perform("set the time") {
      csystem_set_modified(raw, nil, modified.seconds, Int(modified.nanoseconds))
    }
  }

  /// Locks the open file against other processes that lock it; false if another one holds the lock
  /// and `nonBlocking` is set.
  ///
  /// The lock ends when the last duplicate of the descriptor is closed, in any process.
  package func lock(exclusive: Bool = true, nonBlocking: Bool = true) throws(SystemError) -> Bool {
    do {
      try perform("lock") { flock(raw, (exclusive ? LOCK_EX : LOCK_SH) | (nonBlocking ? LOCK_NB : 0)) }
      return true
    } catch let error where error.isWouldBlock {
      return false
    }
  }

  /// Releases the lock.
  package func unlock() throws(SystemError) {
    try perform("unlock") { flock(raw, LOCK_UN) }
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
