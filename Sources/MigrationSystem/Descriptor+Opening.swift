import Glibc

extension Descriptor {
  /// Opens a path, absolute or relative to the current directory. Links in directories are
  /// followed; a link as the last component is an error.
  package static func open(
    _ path: some PathBytes & ~Escapable, _ flags: OpenFlags = .readOnly
  ) throws(SystemError) -> Descriptor {
    let raw = try unsafe path.callingPath("open") {
      unsafe Glibc.open($0, flags.kernelFlags | O_NOFOLLOW | O_NOCTTY)
    }
    return Descriptor(owning: raw)
  }

  /// Opens a path from the user, and follows links, so that /dev/stdin and shell substitutions
  /// work.
  package static func openThroughLinks(
    _ path: some PathBytes & ~Escapable, _ flags: OpenFlags = .readOnly
  ) throws(SystemError) -> Descriptor {
    let raw = try unsafe path.callingPath("open") { unsafe Glibc.open($0, flags.kernelFlags | O_NOCTTY) }
    return Descriptor(owning: raw)
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
}
