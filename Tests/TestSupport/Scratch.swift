import Glibc
package import MigrationSystem

/// A new directory that is removed with its contents.
package final class Scratch: Sendable {
  /// Its absolute path.
  package let path: String
  /// The directory itself, open.
  package let directory: Directory
  private let parent: String

  /// Creates a scratch directory: in memory, where syncing and new files cost little, if memory can
  /// hold what the tests write; on a disk for a test that needs a disk's limits.
  ///
  /// PEER_TEST_DISK names a directory in which all scratch directories are created instead: on a
  /// file system on which to run the tests.
  package init(onDisk: Bool = false) throws {
    let disk = getenv("PEER_TEST_DISK").map { String(cString: $0) }
    parent = disk ?? (onDisk ? nil : Self.memory) ?? "/tmp"
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

  /// A directory in memory with room for the suites, and whose files can have attributes.
  private static let memory: String? = {
    let path = "/dev/shm"
    guard let directory = try? Directory.open(path),
      let space = try? FileSystemSpace.of(directory.descriptor), space.availableBytes > 2 << 30
    else { return nil }
    var template = Array("\(path)/peer-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { return nil }
    defer { rmdir(template) }
    let made = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    guard (try? Directory.open(made).descriptor.setAttribute(Array("user.peer".utf8), [])) != nil else { return nil }
    return path
  }()

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
