import CSystem
import Glibc

/// The mechanism that keeps a relative path inside its directory and away from links.
///
/// Both give the same results: ELOOP at a link of any kind, EINVAL for a path that is absolute,
/// empty, or has a component that is empty, "." or "..". Paths may be longer than the kernel
/// accepts in one call.
package enum PathResolution: Sendable {
  /// The kernel, by openat2.
  case kernel
  /// This module, component by component, if the kernel or a sandbox does not offer openat2.
  case walk

  /// The mechanism of this machine, tested once.
  package static let preferred: PathResolution = {
    let probe = unsafe csystem_open_beneath(AT_FDCWD, ".", csystem_open_path | O_DIRECTORY | O_CLOEXEC)
    guard probe == -1 else {
      _ = close(probe)
      return .kernel
    }
    return errno == ENOSYS || errno == EPERM ? .walk : .kernel
  }()

  /// The most bytes that one call accepts, not counting the terminator.
  static let longestPath = Int(PATH_MAX) - 1

  /// Opens a path inside a directory. Overwrites separators in `path`.
  func open(
    _ path: UnsafeMutableBufferPointer<CChar>, beneath directory: CInt, flags: CInt
  ) throws(SystemError) -> Descriptor {
    guard unsafe PathShape.isRelative(path) else { throw SystemError(errno: EINVAL, operation: "open") }
    var rest = unsafe path
    var base = directory
    // Keeps `base` open; only its number is passed on.
    var held: Descriptor?
    while let separator = unsafe nextStop(in: rest) {
      unsafe rest[separator] = 0
      let next = try unsafe openStep(rest.baseAddress!, in: base, flags: csystem_open_path | O_DIRECTORY | O_CLOEXEC)
      base = next.raw
      held = consume next
      unsafe rest = UnsafeMutableBufferPointer(rebasing: rest[(separator + 1)...])
    }
    let leaf = try unsafe openStep(rest.baseAddress!, in: base, flags: flags)
    _ = consume held
    return leaf
  }

  /// The separator at which the next step ends, or nil if the rest is the last step.
  private func nextStop(in path: UnsafeMutableBufferPointer<CChar>) -> Int? {
    switch self {
    case .walk: unsafe path.firstIndex(of: PathShape.separator)
    case .kernel where path.count <= Self.longestPath: nil
    // The kernel refuses a component that is too long by itself.
    case .kernel: unsafe path[..<Self.longestPath].lastIndex(of: PathShape.separator)
    }
  }

  private func openStep(
    _ path: UnsafeMutablePointer<CChar>, in base: CInt, flags: CInt
  ) throws(SystemError) -> Descriptor {
    switch self {
    case .kernel:
      // Without O_NOFOLLOW, which would return ENOTDIR and not ELOOP for a link in the place of a
      // directory.
      return Descriptor(owning: try calling("open") { unsafe csystem_open_beneath(base, path, flags) })
    case .walk: return try unsafe walkStep(path, in: base, flags: flags)
    }
  }

  /// How often an entry may change its type between two calls.
  private static let patience = 1_000

  private func walkStep(
    _ path: UnsafeMutablePointer<CChar>, in base: CInt, flags: CInt
  ) throws(SystemError) -> Descriptor {
    for _ in 0..<Self.patience {
      do {
        return Descriptor(owning: try calling("open") { unsafe openat(base, path, flags | O_NOFOLLOW) })
      } catch let error where error.errno == ENOTDIR {
        // The kernel also returns this error for a link in the place of a directory.
        switch unsafe kind(of: path, in: base) {
        case .symbolicLink: throw SystemError(errno: ELOOP, operation: "open")
        // It was a link when it was opened, or has become one since.
        case .directory, nil: continue
        default: throw error
        }
      }
    }
    throw SystemError(errno: ELOOP, operation: "open")
  }

  private func kind(of name: UnsafeMutablePointer<CChar>, in base: CInt) -> FileKind? {
    var status = stat()
    guard unsafe fstatat(base, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
    return FileKind(mode: status.st_mode)
  }
}
