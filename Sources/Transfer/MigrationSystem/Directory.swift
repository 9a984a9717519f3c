import CSystem
import Glibc

/// An open directory. Names relative to it stay inside it, even if the directory is moved.
///
/// Names are single components; `openBeneath`, `openDirectoryBeneath` and `makeDirectories` take
/// paths with several. No operation follows a symbolic link, except `open`, which takes names from
/// the local user.
package struct Directory: ~Copyable, Sendable {
  /// The descriptor, for operations that directories share with files: status, synchronizing,
  /// locks.
  package let descriptor: Descriptor

  /// Takes ownership of a directory's descriptor.
  package init(owning descriptor: consuming Descriptor) {
    self.descriptor = descriptor
  }

  /// The number, for calls that borrow it while this value exists.
  package var raw: CInt { descriptor.raw }

  /// Opens an absolute path, or one relative to the current directory; follows links.
  package static func open(_ path: some PathBytes & ~Escapable) throws(SystemError) -> Directory {
    let raw = try unsafe path.callingPath("open") { unsafe Glibc.open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    return Directory(owning: Descriptor(owning: raw))
  }

  /// The kernel's status of the item at a path, also through links.
  package static func status(of path: some PathBytes & ~Escapable) throws(SystemError) -> FileStatus {
    var status = stat()
    _ = try unsafe path.callingPath("examine") { unsafe fstatat(AT_FDCWD, $0, &status, 0) }
    return FileStatus(status)
  }

  /// Gives the descriptor away.
  package consuming func release() -> Descriptor {
    descriptor
  }

  /// Another handle on the same directory.
  package func duplicate() throws(SystemError) -> Directory {
    Directory(owning: try descriptor.duplicate())
  }

  /// The kernel's status of the directory itself.
  package func status() throws(SystemError) -> FileStatus {
    try descriptor.status()
  }

  /// Returns when the names in this directory are on the disk.
  package func synchronize() throws(SystemError) {
    try descriptor.synchronize()
  }

  /// Creates a directory with an absolute path, or one relative to the current directory. The umask
  /// applies.
  package static func make(_ path: some PathBytes & ~Escapable, mode: UInt32) throws(SystemError) {
    _ = try unsafe path.callingPath("create the directory") { unsafe mkdir($0, mode) }
  }

  /// Fails unless this process may create names here.
  package func checkWritable() throws(SystemError) {
    try perform("write to") { unsafe faccessat(raw, ".", W_OK | X_OK, AT_EACCESS) }
  }

  /// Opens a regular file, or a directory, by a relative path, without following links, and never
  /// outside this directory.
  package func openBeneath(
    _ path: some PathBytes & ~Escapable, _ flags: OpenFlags = .readOnly, by resolution: PathResolution = .preferred
  ) throws(SystemError) -> Descriptor {
    do {
      return try unsafe path.withCString(for: "open") { (text) throws(SystemError) -> Descriptor in
        try unsafe resolution.open(text, beneath: raw, flags: flags.kernelFlags)
      }.refusedUnlessRegular("", opened: flags)
    } catch {
      throw error.about(path.escapedText)
    }
  }

  /// Opens a directory by a relative path, without following links, and never outside this
  /// directory.
  package func openDirectoryBeneath(
    _ path: some PathBytes & ~Escapable, by resolution: PathResolution = .preferred
  ) throws(SystemError) -> Directory {
    Directory(owning: try openBeneath(path, .directory, by: resolution))
  }

  /// Opens a regular file by its name.
  @_specialize(where Name == ArraySlice<UInt8>)
  package func openChild<Name: PathBytes & ~Escapable>(
    _ name: Name, _ flags: OpenFlags = .readOnly
  ) throws(SystemError) -> Descriptor {
    let raw = try unsafe name.callingName("open") { unsafe openat(self.raw, $0, flags.kernelFlags | O_NOFOLLOW) }
    return try Descriptor(owning: raw).refusedUnlessRegular(name.escapedText, opened: flags)
  }

  /// Opens a directory by its name.
  package func openChildDirectory(_ name: some PathBytes & ~Escapable) throws(SystemError) -> Directory {
    Directory(owning: try openChild(name, .directory))
  }

  /// The kernel's status of a name; for a symbolic link, of the link itself.
  @_specialize(where Name == Span<UInt8>)
  @_specialize(where Name == ArraySlice<UInt8>)
  package func status<Name: PathBytes & ~Escapable>(_ name: Name) throws(SystemError) -> FileStatus {
    var status = stat()
    try unsafe name.callingName("examine") { unsafe fstatat(raw, $0, &status, AT_SYMLINK_NOFOLLOW) }
    return FileStatus(status)
  }

  /// The same, with the flags that the file system has for the item.
  @_specialize(where Name == Span<UInt8>)
  package func flaggedStatus<Name: PathBytes & ~Escapable>(
    _ name: Name
  ) throws(SystemError) -> (status: FileStatus, flags: FileFlags) {
    var (status, flags) = (stat(), UInt64(0))
    try unsafe name.callingName("examine") { unsafe csystem_flagged_status(raw, $0, &status, &flags) }
    return (FileStatus(status), FileFlags(rawValue: flags))
  }

  /// The same, with the mount that has the item: no name is moved from one mount to another, even if
  /// both show one file system.
  package func mountedStatus(
    _ name: some PathBytes & ~Escapable
  ) throws(SystemError) -> (status: FileStatus, mount: MountIdentity) {
    var (status, mount) = (stat(), UInt64(0))
    try unsafe name.callingName("examine") { unsafe csystem_mounted_status(raw, $0, &status, &mount) }
    let found = FileStatus(status)
    return (found, MountIdentity(device: found.device, number: mount))
  }

  /// The mount that has the directory.
  package func mount() throws(SystemError) -> MountIdentity {
    var (status, mount) = (stat(), UInt64(0))
    try perform("examine") { unsafe csystem_mounted_status(raw, "", &status, &mount) }
    return MountIdentity(device: UInt64(status.st_dev), number: mount)
  }

  /// The target of a link in a folder, which need not be readable.
  package static func target(of name: [UInt8], in folder: [UInt8]) throws(SystemError) -> [UInt8] {
    try Directory(owning: try Descriptor.open(folder, [.directory, .pathOnly])).readLink(name)
  }

  /// The target of a symbolic link, of any length.
  package func readLink(_ name: some PathBytes & ~Escapable) throws(SystemError) -> [UInt8] {
    var capacity = 256
    while true {
      var target = [UInt8](repeating: 0, count: capacity)
      let count = try unsafe name.callingName("read the link") { name in
        unsafe target.withUnsafeMutableBytes { buffer in
          unsafe readlinkat(raw, name, buffer.baseAddress!.assumingMemoryBound(to: CChar.self), buffer.count)
        }
      }
      // A target that fills the buffer may have been truncated.
      if count < capacity { return Array(target[..<count]) }
      capacity *= 2
    }
  }

  /// Removes a name that is not a directory.
  package func remove(_ name: some PathBytes & ~Escapable) throws(SystemError) {
    try unsafe name.callingName("remove") { unsafe unlinkat(raw, $0, 0) }
  }

  /// Removes an empty directory.
  package func removeDirectory(_ name: some PathBytes & ~Escapable) throws(SystemError) {
    try unsafe name.callingName("remove") { unsafe unlinkat(raw, $0, AT_REMOVEDIR) }
  }

  /// Sets a name's modification time; for a symbolic link, the link's own.
  package func setTimes(_ name: some PathBytes & ~Escapable, modified: Timestamp) throws(SystemError) {
    try unsafe name.callingName("set the time of") {
      unsafe csystem_set_modified(raw, $0, modified.seconds, Int(modified.nanoseconds))
    }
  }

  /// Sets a name's twelve permission bits. Symbolic links have none: EOPNOTSUPP.
  package func setMode(_ name: some PathBytes & ~Escapable, _ mode: UInt32) throws(SystemError) {
    try unsafe name.callingName("set the mode of") { unsafe csystem_set_mode(raw, $0, mode) }
  }

  /// Space for some hundred entries: few calls, and small enough for the caches.
  private static let entryBufferSize = 32 << 10

  /// Calls `body` with each name in this directory and its type, if the file system reports it,
  /// until `body` returns false.
  ///
  /// The order is the kernel's; "." and ".." are left out. The span is valid only during the call.
  /// Names that are created or removed meanwhile may or may not be included. The position belongs
  /// to the open directory, so one handle serves one iteration at a time. From the second iteration
  /// on, the directory is opened again: on CIFS a handle that was read once returns the same names
  /// again, even after changes.
  package func forEachEntry(
    _ body: (_ name: Span<UInt8>, _ kind: FileKind?) throws(SystemError) -> Bool
  ) throws(SystemError) {
    let position = try calling("list") { lseek(raw, 0, SEEK_CUR) }
    if position == 0 { return try forEachEntryFromHere(body) }
    let again = unsafe openat(raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if again != -1 { return try Directory(owning: Descriptor(owning: again)).forEachEntryFromHere(body) }
    // The directory may be readable and not enterable.
    _ = try calling("list") { lseek(raw, 0, SEEK_SET) }
    try forEachEntryFromHere(body)
  }

  /// Calls `body` with each name that this handle has not returned yet.
  private func forEachEntryFromHere(
    _ body: (_ name: Span<UInt8>, _ kind: FileKind?) throws(SystemError) -> Bool
  ) throws(SystemError) {
    try unsafe withStackMemory(byteCount: Self.entryBufferSize, alignment: 8) { (buffer) throws(SystemError) in
      while true {
        let count = try calling("list") { unsafe csystem_read_entries(raw, buffer.baseAddress!, buffer.count) }
        if count == 0 { return }
        var records = unsafe UnsafeRawBufferPointer(rebasing: buffer[..<count])
        while unsafe !records.isEmpty {
          let record = unsafe EntryRecord(records)
          if unsafe !record.isDot {
            let name = unsafe Span(_unsafeElements: record.name)
            if try unsafe !body(name, FileKind(entryType: record.type)) { return }
          }
          unsafe records = UnsafeRawBufferPointer(rebasing: records[record.length...])
        }
      }
    }
  }

  /// The names in this directory, in the kernel's order, of types that the file system may report.
  package func names(_ note: (FileKind?) -> Void = { _ in }) throws(SystemError) -> [[UInt8]] {
    var names: [[UInt8]] = []
    try forEachEntry { (name, kind) throws(SystemError) in
      names.append(unsafe name.withUnsafeBufferPointer { unsafe Array($0) })
      note(kind)
      return true
    }
    return names
  }

  /// Whether it has no entries.
  package func isEmpty() throws(SystemError) -> Bool {
    var isEmpty = true
    try forEachEntry { (_, _) throws(SystemError) in
      isEmpty = false
      return false
    }
    return isEmpty
  }

  /// Whether an entry has exactly this name; a file system may find it by other names, too.
  package func lists(_ name: ArraySlice<UInt8>) throws(SystemError) -> Bool {
    var isListed = false
    try forEachEntry { (entry, _) throws(SystemError) in
      isListed = entry.count == name.count
      for index in entry.indices where isListed { isListed = entry[index] == name[name.startIndex + index] }
      return !isListed
    }
    return isListed
  }

  /// One `linux_dirent64`: inode and offset (8 bytes each), length (2), type (1), then the
  /// NUL-terminated name.
  @unsafe private struct EntryRecord {
    let length: Int
    let type: UInt8
    let name: UnsafeBufferPointer<UInt8>

    init(_ bytes: UnsafeRawBufferPointer) {
      unsafe length = unsafe Int(bytes.loadUnaligned(fromByteOffset: 16, as: UInt16.self))
      unsafe type = unsafe bytes[18]
      let start = unsafe bytes.baseAddress! + 19
      let count = unsafe strlen(start.assumingMemoryBound(to: CChar.self))
      unsafe name = unsafe UnsafeBufferPointer(start: start.assumingMemoryBound(to: UInt8.self), count: count)
    }

    /// Whether this is the directory itself or its parent.
    var isDot: Bool {
      let dot = UInt8(ascii: ".")
      return unsafe name[0] == dot && (name.count == 1 || name.count == 2 && name[1] == dot)
    }
  }
}

/// A directory that several owners keep open together.
package final class SharedDirectory: Sendable {
  /// The directory, to be borrowed.
  package let directory: Directory

  /// Shares a directory.
  package init(_ directory: consuming Directory) {
    self.directory = directory
  }
}
