import CSystem
import Glibc

/// The calls with which names are moved without replacing.
package enum RenamingMeans: Sendable {
  /// The kernel's flags, if the file system supports them.
  case preferred
  /// Calls that every file system supports.
  case plain
}

extension Directory {
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
    by means: RenamingMeans = .preferred
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
}

extension PathBytes where Self: ~Escapable {
  /// Lends a name, with the checks of `callingName`, to a call that takes two names.
  @discardableResult
  func withCheckedName<Result>(
    for operation: String, _ body: (UnsafePointer<CChar>) throws(SystemError) -> Result
  ) throws(SystemError) -> Result {
    try unsafe withCString(for: operation) { (text) throws(SystemError) -> Result in
      guard unsafe PathShape.isName(text[...]) else {
        throw SystemError(errno: EINVAL, operation: operation, subject: escapedText)
      }
      return try unsafe body(UnsafePointer(text.baseAddress!))
    }
  }
}
