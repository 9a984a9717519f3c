import Glibc

extension Descriptor {
  /// Opens what a path names: absolute, or relative to the current directory. Links on the way are followed, one at the end
  /// is an error.
  package static func open(
    _ path: some PathBytes & ~Escapable, _ flags: OpenFlags = .readOnly
  ) throws(SystemError) -> Descriptor {
    let raw = try unsafe path.callingPath("open") {
      unsafe Glibc.open($0, flags.kernelFlags | O_NOFOLLOW | O_NOCTTY)
    }
    return Descriptor(owning: raw)
  }

  /// Takes over a number that the program was started with, and keeps programs that we start from having it.
  package static func inherited(_ raw: CInt) throws(SystemError) -> Descriptor {
    try perform("take over an inherited descriptor") { fcntl(raw, F_SETFD, FD_CLOEXEC) }
    return Descriptor(owning: raw)
  }
}
