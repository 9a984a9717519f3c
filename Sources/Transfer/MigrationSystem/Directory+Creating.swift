import CSystem
import Glibc

extension Directory {
  /// Creates a file for writing; fails if the name is taken. The umask applies to the mode.
  @_specialize(where Name == ArraySlice<UInt8>)
  package func createFile<Name: PathBytes & ~Escapable>(
    _ name: Name, mode: UInt32 = 0o600
  ) throws(SystemError) -> Descriptor {
    let raw = try unsafe name.callingName("create") {
      unsafe openat(self.raw, $0, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, mode)
    }
    return Descriptor(owning: raw)
  }

  /// Opens a regular file for reading and writing, and creates it if the name is free. The umask
  /// applies to the mode.
  package func openOrCreateFile(
    _ name: some PathBytes & ~Escapable, mode: UInt32 = 0o600
  ) throws(SystemError) -> Descriptor {
    let raw = try unsafe name.callingName("open") {
      unsafe openat(self.raw, $0, O_CREAT | OpenFlags.readWrite.kernelFlags | O_NOFOLLOW, mode)
    }
    return try Descriptor(owning: raw).refusedUnlessRegular(name.escapedText)
  }

  /// Creates a directory. The umask applies to the mode.
  package func makeDirectory(_ name: some PathBytes & ~Escapable, mode: UInt32 = 0o700) throws(SystemError) {
    try unsafe name.callingName("create the directory") { unsafe mkdirat(raw, $0, mode) }
  }

  /// Creates a symbolic link. The target is any text; it need not exist.
  package func makeSymbolicLink(
    _ name: some PathBytes & ~Escapable, target: some PathBytes & ~Escapable
  ) throws(SystemError) {
    try unsafe target.withCString(for: "create the symbolic link") { (target) throws(SystemError) in
      let pointer = unsafe UnsafePointer(target.baseAddress!)
      try unsafe name.callingName("create the symbolic link") { unsafe symlinkat(pointer, raw, $0) }
    }
  }

  /// Gives a file in this directory another name, here or in another directory. A symbolic link is
  /// linked itself.
  package func makeHardLink(
    _ name: some PathBytes & ~Escapable, in other: borrowing Directory, as newName: some PathBytes & ~Escapable
  ) throws(SystemError) {
    let target = other.raw
    try unsafe newName.withCheckedName(for: "link") { (newName) throws(SystemError) in
      try unsafe name.callingName("link") { unsafe linkat(raw, $0, target, newName, 0) }
    }
  }

  /// Creates the missing directories of a relative path, and opens the last one.
  ///
  /// Existing directories keep their mode. A symbolic link on the way is an error.
  @discardableResult
  package func makeDirectories(
    _ path: some PathBytes & ~Escapable, mode: UInt32 = 0o700, by resolution: PathResolution = .preferred
  ) throws(SystemError) -> Directory {
    do {
      return try openDirectoryBeneath(path, by: resolution)
    } catch let error where error.isNotFound {
      do {
        return try unsafe path.withCString(for: "create the directory") { (text) throws(SystemError) -> Directory in
          try unsafe makeEach(of: text, mode: mode)
        }
      } catch {
        throw error.about(path.escapedText)
      }
    }
  }

  /// Follows a path whose form has been checked, and creates missing directories.
  private func makeEach(of path: UnsafeMutableBufferPointer<CChar>, mode: UInt32) throws(SystemError) -> Directory {
    var rest = unsafe path
    var base = raw
    // Keeps `base` open; only its number is passed on.
    var held: Descriptor?
    while let separator = unsafe rest.firstIndex(of: PathShape.separator) {
      unsafe rest[separator] = 0
      // Passing through a directory needs only the search permission.
      let next = try unsafe Self.openOrMake(rest.baseAddress!, in: base, flags: csystem_open_path, mode: mode)
      base = next.raw
      held = consume next
      unsafe rest = UnsafeMutableBufferPointer(rebasing: rest[(separator + 1)...])
    }
    let last = try unsafe Self.openOrMake(rest.baseAddress!, in: base, flags: O_RDONLY, mode: mode)
    _ = consume held
    return Directory(owning: last)
  }

  private static func openOrMake(
    _ name: UnsafeMutablePointer<CChar>, in base: CInt, flags: CInt, mode: UInt32
  ) throws(SystemError) -> Descriptor {
    do {
      return try unsafe openDirectory(name, in: base, flags: flags)
    } catch let error where error.isNotFound {
      do {
        try perform("create the directory") { unsafe mkdirat(base, name, mode) }
      } catch let error where error.isAlreadyExisting {
        // Another process has just created it.
      }
      return try unsafe openDirectory(name, in: base, flags: flags)
    }
  }

  private static func openDirectory(
    _ name: UnsafeMutablePointer<CChar>, in base: CInt, flags: CInt
  ) throws(SystemError) -> Descriptor {
    let text = unsafe UnsafeMutableBufferPointer(start: name, count: strlen(name))
    return try unsafe PathResolution.walk.open(text, beneath: base, flags: flags | O_DIRECTORY | O_CLOEXEC)
  }

  /// Moves a name within this directory or to another directory of the same file system (otherwise
  /// EXDEV).
  ///
  /// With `noReplace`, a taken name is EEXIST. A file system that cannot guarantee that refuses the
  /// flag (`isRenameFlagRefused`), and nothing has changed.
  package func rename(
    _ name: some PathBytes & ~Escapable, to other: borrowing Directory, as newName: some PathBytes & ~Escapable,
    noReplace: Bool
  ) throws(SystemError) {
    let target = other.raw
    let flags = noReplace ? UInt32(csystem_rename_no_replace) : 0
    try unsafe newName.withCheckedName(for: "rename") { (newName) throws(SystemError) in
      try unsafe name.callingName("rename") { unsafe csystem_rename(raw, $0, target, newName, flags) }
    }
  }

  /// Moves a name to a free one, in a place where only this program creates names.
  ///
  /// A taken name is EEXIST. If the file system cannot rename without replacing, a file gets a
  /// second name and loses the first; a crash may leave both. A directory, or a file that cannot
  /// have a second name, is moved in one step after a check of the new name; a directory that is
  /// not empty is never replaced.
  package func renameAmongOwn(
    _ name: some PathBytes & ~Escapable, to other: borrowing Directory, as newName: some PathBytes & ~Escapable,
    by means: RenameMethod = .preferred
  ) throws(SystemError) {
    if means == .preferred {
      do {
        return try rename(name, to: other, as: newName, noReplace: true)
      } catch {
        guard error.isRenameFlagRefused else { throw error }
      }
    }
    if try status(name).kind != .directory {
      do {
        try makeHardLink(name, in: other, as: newName)
        return try remove(name)
      } catch {
        guard error.isLinkRefused else { throw error }
      }
    }
    guard try other.isFree(newName) else { throw SystemError(alreadyExisting: "rename") }
    try rename(name, to: other, as: newName, noReplace: false)
  }

  /// Whether the name is free here.
  package func isFree(_ name: some PathBytes & ~Escapable) throws(SystemError) -> Bool {
    do {
      _ = try status(name)
      return false
    } catch {
      guard error.isNotFound else { throw error }
      return true
    }
  }

  /// Exchanges two names, in this directory and in another directory of the same file system, in
  /// one step.
  ///
  /// A file system that cannot refuses the flag (`isRenameFlagRefused`), and nothing has changed.
  package func exchange(
    _ name: some PathBytes & ~Escapable, with other: borrowing Directory, _ otherName: some PathBytes & ~Escapable
  ) throws(SystemError) {
    let target = other.raw
    try unsafe otherName.withCheckedName(for: "exchange") { (otherName) throws(SystemError) in
      try unsafe name.callingName("exchange") {
        unsafe csystem_rename(raw, $0, target, otherName, UInt32(csystem_rename_exchange))
      }
    }
  }

  /// Creates a file, or replaces one of that name: every reader sees the old file or the whole new
  /// one, even after a power loss if it is durable.
  package func replaceFile(
    _ name: [UInt8], with bytes: [UInt8], isDurable: Bool = true
  ) throws(SystemError) {
    let next = name + Array(".new".utf8)
    do {
      try remove(next)
    } catch  where error.isNotFound {
      // Only a crash leaves such a file.
    }
    let file = try createFile(next)
    try file.write(at: 0, bytes.span)
    if isDurable { try file.synchronize() }
    try rename(next, to: self, as: name, noReplace: false)
    if isDurable { try synchronize() }
  }

  /// Opens a directory; creates it and its parents if they are missing.
  package static func openOrMake(_ path: [UInt8], mode: UInt32) throws(SystemError) -> Directory {
    do {
      return try open(path)
    } catch  where error.isNotFound {
      var parent = path
      while parent.last == UInt8(ascii: "/") { parent.removeLast() }
      while let last = parent.last, last != UInt8(ascii: "/") { parent.removeLast() }
      let above = parent.isEmpty ? try open([UInt8(ascii: ".")]) : try openOrMake(parent, mode: mode)
      do {
        try make(path, mode: mode)
      } catch  where error.isAlreadyExisting {
        // Another process has just created it.
      }
      // What is in it is on the disk only with its name. Some folders cannot be synced.
      try? above.synchronize()
      return try open(path)
    }
  }

  /// The directory's absolute path; fails if it no longer has one.
  package func canonicalPath() throws(SystemError) -> [UInt8] {
    let path = try Directory.open("/proc/self/fd").readLink(Array("\(raw)".utf8))
    guard path.first == UInt8(ascii: "/"), try Directory.open(path).status().inode == status().inode else {
      throw SystemError(errno: ENOENT, operation: "find the path of a directory")
    }
    return path
  }

  /// The calls with which names are moved without replacing.
  package enum RenameMethod: Sendable {
    /// The kernel's flags, if the file system supports them.
    case preferred
    /// Calls that every file system supports.
    case plain
  }
}

extension Descriptor {
  /// The process that holds a lock by `lock` on the same file, if the kernel reports it.
  package func lockHolder() -> CInt? {
    guard let status = try? status(),
      let text = try? Directory.open("/proc").openChild("locks").readToEnd(limit: 1 << 26)
    else { return nil }
    let device = status.deviceNumbers
    var holder: CInt?
    // Such as "7: FLOCK ADVISORY WRITE 4711 fd:01:1234 0 EOF".
    for line in text.split(separator: UInt8(ascii: "\n")) {
      let words = String(decoding: line, as: UTF8.self).split(separator: " ")
      guard words.count > 5, words[1] == "FLOCK", let process = CInt(words[4]), process > 0 else { continue }
      let place = words[5].split(separator: ":")
      guard place.count == 3, UInt64(place[2]) == status.inode, let major = UInt64(place[0], radix: 16),
        let minor = UInt64(place[1], radix: 16)
      else { continue }
      if (major, minor) == device { return process }
      // A subvolume of btrfs has a device of its own in its files' status, and no file system's.
      if major == 0, device.major == 0 { holder = holder ?? process }
    }
    return holder
  }

  /// The process that holds a lock of fcntl(2) on any part of the file.
  package func recordLockHolder() -> CInt? {
    var lock = Glibc.flock()
    lock.l_type = Int16(F_WRLCK)
    guard unsafe fcntl(raw, F_GETLK, &lock) == 0, lock.l_type != Int16(F_UNLCK), lock.l_pid > 0 else { return nil }
    return lock.l_pid
  }
}
