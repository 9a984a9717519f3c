import Glibc

/// The contents of a directory as plain system calls show them, independently of the code under
/// test.
struct TreeSnapshot: Equatable {
  struct Entry: Equatable, CustomStringConvertible {
    var type: mode_t
    var mode: mode_t
    var seconds: Int
    var nanoseconds: Int
    var size: Int
    /// A file's content, a link's target.
    var content: [UInt8]
    var allocated = 0

    static func == (left: Entry, right: Entry) -> Bool {
      (left.type, left.mode, left.seconds, left.nanoseconds, left.size)
        == (right.type, right.mode, right.seconds, right.nanoseconds, right.size) && left.content == right.content
    }

    var description: String {
      "\(String(type | mode, radix: 8)) \(seconds).\(nanoseconds) \(size) \(content.prefix(8))"
    }
  }

  /// By path; the directory itself is left out.
  var entries: [[UInt8]: Entry] = [:]

  subscript(_ path: String) -> Entry? { entries[Array(path.utf8)] }

  static func of(_ path: String, deep: Bool = true) -> TreeSnapshot {
    let directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    precondition(directory >= 0, "\(path): \(errno)")
    var snapshot = TreeSnapshot()
    snapshot.add(directory, [], deep)
    return snapshot
  }

  /// The paths at which two trees differ, for a readable failure.
  func differences(from other: TreeSnapshot) -> [String] {
    Set(entries.keys).union(other.entries.keys).filter { entries[$0] != other.entries[$0] }
      .map { path in
        "\(String(decoding: path.suffix(60), as: UTF8.self)): \(entries[path]?.description ?? "-") / "
          + (other.entries[path]?.description ?? "-")
      }.sorted()
  }

  private mutating func add(_ directory: CInt, _ prefix: [UInt8], _ deep: Bool) {
    guard let list = fdopendir(directory) else { preconditionFailure("cannot list: \(errno)") }
    defer { closedir(list) }
    while let entry = readdir(list) {
      var name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
      if name == [0x2E] || name == [0x2E, 0x2E] { continue }
      let path = prefix + name
      name.append(0)
      let text = name.map { CChar(bitPattern: $0) }
      var status = stat()
      precondition(fstatat(directory, text, &status, AT_SYMLINK_NOFOLLOW) == 0)
      entries[path] = Entry(
        type: status.st_mode & S_IFMT, mode: status.st_mode & 0o7777, seconds: status.st_mtim.tv_sec,
        nanoseconds: status.st_mtim.tv_nsec, size: status.st_mode & S_IFMT == S_IFDIR ? 0 : Int(status.st_size),
        content: Self.content(text, status, in: directory), allocated: Int(status.st_blocks) * 512)
      guard deep, status.st_mode & S_IFMT == S_IFDIR else { continue }
      let child = openat(directory, text, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      if child >= 0 { add(child, path + [0x2F], deep) }
    }
  }

  private static func content(_ name: [CChar], _ status: stat, in directory: CInt) -> [UInt8] {
    switch status.st_mode & S_IFMT {
    case S_IFLNK:
      var target = [CChar](repeating: 0, count: 4096)
      let count = readlinkat(directory, name, &target, target.count)
      return target.prefix(max(0, count)).map { UInt8(bitPattern: $0) }
    case S_IFREG:
      // A file that is mostly a hole is not worth the memory; its beginning is.
      let file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
      guard file >= 0 else { return [] }
      defer { close(file) }
      var bytes = [UInt8](repeating: 0, count: min(Int(status.st_size), 24 << 20))
      var done = 0
      while done < bytes.count {
        let left = bytes.count - done
        let count = bytes.withUnsafeMutableBytes { pread(file, $0.baseAddress! + done, left, done) }
        guard count > 0 else { break }
        done += count
      }
      return bytes
    default: return []
    }
  }
}
