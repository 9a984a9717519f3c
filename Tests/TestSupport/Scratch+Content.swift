import Glibc

/// Files, directories and links in a scratch directory. A failure to create one ends the run: it is
/// not the test's fault.
extension Scratch {
  /// Writes a whole file, new or existing, and creates missing directories.
  package func write(_ name: String, _ bytes: some Collection<UInt8>, mode: UInt32 = 0o644) {
    var file = openForWriting(name, mode)
    if file < 0, errno == ENOENT, let end = name.lastIndex(of: "/") {
      makeDirectory(String(name[..<end]))
      file = openForWriting(name, mode)
    }
    precondition(file >= 0, "\(path(name)) cannot be written: error \(errno)")
    Self.write(bytes, to: file, at: 0)
    close(file)
  }

  /// Writes a text as a whole file.
  package func write(_ name: String, _ text: String, mode: UInt32 = 0o644) { write(name, Array(text.utf8), mode: mode) }

  private func openForWriting(_ name: String, _ mode: mode_t) -> CInt {
    open(path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
  }

  /// Writes into an existing file.
  package func patch(_ name: String, _ bytes: [UInt8], at offset: Int) {
    let file = open(path(name), O_WRONLY | O_CLOEXEC)
    precondition(file >= 0, "\(path(name)) cannot be changed: error \(errno)")
    Self.write(bytes, to: file, at: offset)
    close(file)
  }

  private static func write(_ bytes: some Collection<UInt8>, to file: CInt, at offset: Int) {
    let isWritten: Void? = bytes.withContiguousStorageIfAvailable { bytes in
      var done = 0
      while done < bytes.count {
        let count = pwrite(file, bytes.baseAddress! + done, bytes.count - done, off_t(offset + done))
        precondition(count > 0, "a scratch file cannot be written: error \(errno)")
        done += count
      }
    }
    if isWritten == nil { write(Array(bytes), to: file, at: offset) }
  }

  /// The whole content of a file.
  package func read(_ name: String) -> [UInt8] {
    let file = open(path(name), O_RDONLY | O_CLOEXEC)
    precondition(file >= 0, "\(path(name)) cannot be read: error \(errno)")
    defer { close(file) }
    var status = stat()
    precondition(fstat(file, &status) == 0)
    // One more than its size, so that the whole file is read.
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size) + 1)
    var done = 0
    while true {
      let left = bytes.count - done
      let count = bytes.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress! + done, left) }
      guard count > 0 else { break }
      done += count
      if done == bytes.count { bytes += [UInt8](repeating: 0, count: bytes.count) }
    }
    bytes.removeLast(bytes.count - done)
    return bytes
  }

  /// The whole content of a file as a text.
  package func text(_ name: String) -> String { String(decoding: read(name), as: UTF8.self) }

  /// Creates a directory and its missing parents; an existing directory is kept.
  package func makeDirectory(_ name: String) {
    var made = path
    for component in name.split(separator: "/") {
      made += "/\(component)"
      precondition(mkdir(made, 0o755) == 0 || errno == EEXIST, "\(made) cannot be created: error \(errno)")
    }
  }

  /// Creates a symbolic link.
  package func makeLink(_ name: String, to target: String) {
    precondition(symlink(target, path(name)) == 0, "\(path(name)) cannot be created: error \(errno)")
  }

  /// Removes a file or a link.
  package func remove(_ name: String) {
    precondition(unlink(path(name)) == 0, "\(path(name)) cannot be removed: error \(errno)")
  }
}
