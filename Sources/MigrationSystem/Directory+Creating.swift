import CSystem
import Glibc

extension Directory {
  /// Creates a file for writing; fails if the name is taken. The umask applies to the mode.
  @specialized(where Name == ArraySlice<UInt8>)
  package func createFile<Name: PathBytes & ~Escapable>(
    _ name: Name, mode: UInt32 = 0o600
  ) throws(SystemError) -> Descriptor {
    let raw = try unsafe name.callingName("create") {
      unsafe openat(self.raw, $0, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, mode)
    }
    return Descriptor(owning: raw)
  }

  /// Opens a file for reading and writing, and creates it if the name is free. The umask applies to
  /// the mode.
  package func openOrCreateFile(
    _ name: some PathBytes & ~Escapable, mode: UInt32 = 0o600
  ) throws(SystemError) -> Descriptor {
    let raw = try unsafe name.callingName("open") {
      unsafe openat(self.raw, $0, O_CREAT | O_RDWR | O_NOFOLLOW | O_CLOEXEC, mode)
    }
    return Descriptor(owning: raw)
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
}
