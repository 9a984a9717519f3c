import CSystem
import Glibc

extension Directory {
  /// Opens a relative path, without following links, and never outside this directory.
  package func openBeneath(
    _ path: some PathBytes & ~Escapable, _ flags: OpenFlags = .readOnly, by resolution: PathResolution = .preferred
  ) throws(SystemError) -> Descriptor {
    do {
      return try unsafe path.withCString(for: "open") { (text) throws(SystemError) -> Descriptor in
        try unsafe resolution.open(text, beneath: raw, flags: flags.kernelFlags)
      }
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

  /// Opens a file by its name.
  @specialized(where Name == ArraySlice<UInt8>)
  package func openChild<Name: PathBytes & ~Escapable>(
    _ name: Name, _ flags: OpenFlags = .readOnly
  ) throws(SystemError) -> Descriptor {
    let raw = try unsafe name.callingName("open") { unsafe openat(self.raw, $0, flags.kernelFlags | O_NOFOLLOW) }
    return Descriptor(owning: raw)
  }

  /// Opens a directory by its name.
  package func openChildDirectory(_ name: some PathBytes & ~Escapable) throws(SystemError) -> Directory {
    Directory(owning: try openChild(name, .directory))
  }
}
