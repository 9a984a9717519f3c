import Glibc
package import MigrationSystem

/// A new directory that is removed with its contents.
package final class Scratch: Sendable {
  /// Its absolute path.
  package let path: String
  /// The directory itself, open.
  package let directory: Directory
  private let parent: String

  /// Creates a scratch directory, in memory if requested and possible: there syncing costs nothing.
  ///
  /// PEER_TEST_DISK names a directory in which all scratch directories are created instead: on a
  /// file system on which to run the tests.
  package init(inMemory: Bool = false) throws {
    let disk = getenv("PEER_TEST_DISK").map { String(cString: $0) }
    parent = disk ?? (inMemory && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp")
    var template = Array("\(parent)/peer-test-XXXXXX".utf8CString)
    guard template.withUnsafeMutableBufferPointer({ mkdtemp($0.baseAddress!) }) != nil else {
      throw SystemError(errno: errno, operation: "create a scratch directory in \(parent)")
    }
    path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    directory = try Directory.open(path)
  }

  /// Creates a directory with this name inside another one.
  package init(_ name: String, in other: Scratch) throws {
    parent = other.path
    path = "\(other.path)/\(name)"
    try other.directory.makeDirectory(name, mode: 0o755)
    directory = try Directory.open(path)
  }

  deinit { try? Directory.open(parent).removeTree(String(path.dropFirst(parent.count + 1))) }

  /// The absolute path of an item inside.
  package func path(_ name: String) -> String { "\(path)/\(name)" }

  /// The absolute path of an item inside, as the program takes it.
  package func at(_ name: String) -> [UInt8] { Array(path(name).utf8) }

  /// The names in it, or in a directory inside it, in order.
  package func names(_ name: String = "") -> [String] {
    var names: [String] = []
    do throws(SystemError) {
      try Directory.open(path(name)).forEachEntry { (name, _) throws(SystemError) in
        names.append(name.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) })
        return true
      }
    } catch {
      preconditionFailure("\(path(name)) cannot be listed: \(error)")
    }
    return names.sorted()
  }

  /// Whether an item has this name, even a dangling link.
  package func exists(_ name: String) -> Bool {
    var status = stat()
    return lstat(path(name), &status) == 0
  }
}
