import Glibc
import MigrationSystem
import TestSupport

/// File operations and checks for the tests of archives.
extension Scratch {
  /// A scratch directory with `source`, `destination` and `outside`, which contains a secret.
  static func withFolders(onDisk: Bool = false) throws -> Scratch {
    let scratch = try Scratch(onDisk: onDisk)
    for name in ["source", "destination", "outside"] { scratch.makeDirectory(name) }
    scratch.write("outside/secret", "secret")
    return scratch
  }

  func open(_ name: String) throws -> SharedDirectory { SharedDirectory(try Directory.open(at(name))) }

  /// Lets the file system's clock advance: an export waits for recent changes, or gives them a new
  /// generation each time.
  func letSettle() { usleep(20_000) }

  func setMode(_ name: String, _ mode: mode_t) { precondition(chmod(path(name), mode) == 0) }
  func cut(_ name: String, to size: Int) { precondition(truncate(path(name), size) == 0) }
  func move(_ name: String, to newName: String) { precondition(rename(path(name), path(newName)) == 0) }

  func setTime(_ name: String, _ seconds: Int, _ nanoseconds: Int = 0) {
    let times = [timespec(tv_sec: 0, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: nanoseconds)]
    precondition(utimensat(AT_FDCWD, path(name), times, AT_SYMLINK_NOFOLLOW) == 0)
  }

  /// The modification time in seconds and nanoseconds.
  func time(_ name: String) -> [Int] {
    var status = stat()
    precondition(lstat(path(name), &status) == 0)
    return [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
  }

  func snapshot(_ name: String) -> TreeSnapshot { TreeSnapshot.of(path(name)) }

  /// The number of this process's descriptors that lead into this directory, regardless of other
  /// tests.
  func openDescriptors() -> Int {
    guard let list = opendir("/proc/self/fd") else { return 0 }
    defer { closedir(list) }
    var count = 0
    while let entry = readdir(list) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      var target = [UInt8](repeating: 0, count: 512)
      let length = target.withUnsafeMutableBytes {
        readlink("/proc/self/fd/\(name)", $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
      }
      if length > 0, target.starts(with: path.utf8) { count += 1 }
    }
    return count
  }
}
