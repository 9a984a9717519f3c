import CSystem
import Glibc

extension Directory {
  /// Moves a name, here or to another directory of the same file system (otherwise EXDEV).
  ///
  /// With `noReplace` a name that is taken is EEXIST. A file system that cannot promise that gets a link and
  /// an unlink instead, which in a crash may leave both names; for directories there is no such way: EINVAL.
  package func rename(
    _ name: some PathBytes & ~Escapable, to other: borrowing Directory, as newName: some PathBytes & ~Escapable,
    noReplace: Bool
  ) throws(SystemError) {
    let target = other.raw
    let flags = noReplace ? UInt32(csystem_rename_no_replace) : 0
    do {
      try unsafe newName.withCheckedName(for: "rename") { (newName) throws(SystemError) in
        try unsafe name.callingName("rename") { unsafe csystem_rename(raw, $0, target, newName, flags) }
      }
    } catch let error where noReplace && (error.errno == EINVAL || error.errno == ENOSYS) {
      guard let status = try? status(name), status.kind != .directory else { throw error }
      try renameByLinking(name, to: other, as: newName)
    }
  }

  /// Lets two names, here and in another directory of the same file system, change places in one step.
  ///
  /// EINVAL where the file system cannot.
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

  /// Moves a name that is no directory without replacing, by the means that every file system has.
  func renameByLinking(
    _ name: some PathBytes & ~Escapable, to other: borrowing Directory, as newName: some PathBytes & ~Escapable
  ) throws(SystemError) {
    try makeHardLink(name, in: other, as: newName)
    try remove(name)
  }
}

extension PathBytes where Self: ~Escapable {
  /// Lends a name, checked as `callingName` does, to a call that takes two.
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
