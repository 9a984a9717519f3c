import CSystem
import Glibc

extension Directory {
  /// Creates a file, or replaces one of that name: every reader sees the old file or the whole new
  /// one, even after a power loss.
  package func replaceFile(_ name: [UInt8], with bytes: [UInt8]) throws(SystemError) {
    let next = name + Array(".new".utf8)
    do {
      try remove(next)
    } catch  where error.isNotFound {
      // Only a crash leaves such a file.
    }
    let file = try createFile(next)
    try file.write(at: 0, bytes.span)
    try file.synchronize()
    try rename(next, to: self, as: name, noReplace: false)
    try synchronize()
  }

  /// Opens a directory; creates it and its parents if they are missing.
  package static func openOrMake(_ path: [UInt8], mode: UInt32) throws(SystemError) -> Directory {
    do {
      return try open(path)
    } catch  where error.isNotFound {
      var parent = path
      while parent.last == UInt8(ascii: "/") { parent.removeLast() }
      while let last = parent.last, last != UInt8(ascii: "/") { parent.removeLast() }
      if parent.count > 1 { _ = try openOrMake(parent, mode: mode) }
      do {
        try make(path, mode: mode)
      } catch  where error.isAlreadyExisting {
        // Another process has just created it.
      }
      return try open(path)
    }
  }

  /// The directory's absolute path; fails if it no longer has one.
  package func canonicalPath() throws(SystemError) -> [UInt8] {
    let path = try Directory.open("/proc/self/fd").readLink(Array("\(raw)".utf8))
    guard path.first == UInt8(ascii: "/"), try Directory.open(path).status().inode == status().inode else {
      throw SystemError(errno: ENOENT, operation: "find the path of a directory")
    }
    return path
  }
}

extension Descriptor {
  /// The process that holds a lock by `lock` on the same file, if the kernel reports it.
  package func lockHolder() -> CInt? {
    guard let status = try? status(), let file = try? Directory.open("/proc").openChild("locks") else { return nil }
    var text = [UInt8](repeating: 0, count: 1 << 16)
    let count = try? file.readFully(at: 0, into: &text)
    // Such as "7: FLOCK ADVISORY WRITE 4711 fd:01:1234 0 EOF".
    for line in text[..<(count ?? 0)].split(separator: UInt8(ascii: "\n")) {
      let words = String(decoding: line, as: UTF8.self).split(separator: " ")
      guard words.count > 5, words[1] == "FLOCK", let inode = words[5].split(separator: ":").last,
        UInt64(inode) == status.inode, let holder = CInt(words[4]), holder > 0
      else { continue }
      return holder
    }
    return nil
  }
}
