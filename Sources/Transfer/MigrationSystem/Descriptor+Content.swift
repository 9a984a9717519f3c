import CSystem
import Glibc

extension Descriptor {
  /// Reads as many bytes as one call returns, from an offset; 0 at the end of the file.
  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
    try calling("read") { unsafe pread(raw, buffer.baseAddress, buffer.count, off_t(offset)) }
  }

  /// Reads until the buffer is full or the file ends. Returns the number of bytes read.
  func readFully(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
    var done = 0
    while done < buffer.count {
      let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let count = try unsafe read(at: offset + Int64(done), into: rest)
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// Reads until the memory is full or the file ends. Returns the number of bytes read.
  package func readFully(at offset: Int64, into memory: inout MutableSpan<UInt8>) throws(SystemError) -> Int {
    try unsafe memory.withUnsafeMutableBytes { (buffer) throws(SystemError) in
      try unsafe readFully(at: offset, into: buffer)
    }
  }

  /// Reads until the array is full or the file ends. Returns the number of bytes read.
  package func readFully(at offset: Int64, into bytes: inout [UInt8]) throws(SystemError) -> Int {
    var memory = bytes.mutableSpan
    return try readFully(at: offset, into: &memory)
  }

  /// Writes all bytes at an offset.
  package func write(at offset: Int64, _ bytes: Span<UInt8>) throws(SystemError) {
    try unsafe bytes.withUnsafeBytes { (buffer) throws(SystemError) in
      var done = 0
      while done < buffer.count {
        done += try calling("write") {
          unsafe pwrite(raw, buffer.baseAddress! + done, buffer.count - done, off_t(offset) + done)
        }
      }
    }
  }

  /// Writes all bytes at the position where the last write or read without an offset ended.
  package func append(_ bytes: Span<UInt8>) throws(SystemError) {
    try unsafe bytes.withUnsafeBytes { (buffer) throws(SystemError) in
      var done = 0
      while done < buffer.count {
        done += try calling("write") { unsafe Glibc.write(raw, buffer.baseAddress! + done, buffer.count - done) }
      }
    }
  }

  /// Reads as many bytes as one call returns, from the position where the last one ended; 0 at the
  /// end. Also works on pipes.
  package func readNext(into bytes: inout [UInt8]) throws(SystemError) -> Int {
    var memory = bytes.mutableSpan
    return try unsafe memory.withUnsafeMutableBytes { (buffer) throws(SystemError) in
      try calling("read") { unsafe Glibc.read(raw, buffer.baseAddress, buffer.count) }
    }
  }

  /// Truncates the file, or extends it with a hole, to a size.
  package func truncate(to size: Int64) throws(SystemError) {
    try perform("set the size") { ftruncate(raw, off_t(size)) }
  }

  /// Makes a range read as zeros, without changing the size; as a hole if the file system supports
  /// holes.
  package func clear(_ range: Range<Int64>) throws(SystemError) {
    do {
      try perform("clear") { csystem_punch_hole(raw, off_t(range.lowerBound), off_t(range.count)) }
    } catch  where error.isUnsupported {
      try clearByWriting(range)
    }
  }

  /// Copies a range to the same offset of another file, as far as this file goes. The kernel copies,
  /// and only refers to the same blocks where the file system can share them.
  package func copy(_ range: Range<Int64>, to other: borrowing Descriptor) throws(SystemError) {
    var (from, to) = (off_t(range.lowerBound), off_t(range.lowerBound))
    while from < range.upperBound {
      let rest = Int(range.upperBound - Int64(from))
      let count = try calling("copy") { unsafe csystem_copy_range(raw, &from, other.raw, &to, rest) }
      if count == 0 { return }
    }
  }

  /// Writes zeros only over other bytes: ranges that were never written stay holes.
  private func clearByWriting(_ range: Range<Int64>) throws(SystemError) {
    let size = Int(min(Int64(range.count), 1 << 20))
    let zeros = [UInt8](repeating: 0, count: size)
    var found = zeros
    var start = range.lowerBound
    while start < range.upperBound {
      let wanted = Int(min(Int64(size), range.upperBound - start))
      var target = found.mutableSpan
      let count = try unsafe target.withUnsafeMutableBytes { (buffer) throws(SystemError) in
        try unsafe readFully(at: start, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]))
      }
      if found[..<count].contains(where: { $0 != 0 }) {
        try write(at: start, zeros.span.extracting(0..<count))
      }
      if count < wanted { return }
      start += Int64(count)
    }
  }

  /// Tells the kernel that the file will be read from start to end. The kernel may ignore it.
  package func adviseSequential() {
    _ = posix_fadvise(raw, 0, 0, POSIX_FADV_SEQUENTIAL)
  }

  /// Tells the kernel that a part of the file will be read soon. The kernel starts reading, or
  /// ignores it.
  package func adviseNeeded(at offset: Int64, length: Int64) {
    _ = posix_fadvise(raw, off_t(offset), off_t(length), POSIX_FADV_WILLNEED)
  }

  /// Advises the kernel to forget the file's data in memory. The kernel may ignore this, and keeps
  /// data that is not on the disk yet.
  package func adviseUnneeded() {
    _ = posix_fadvise(raw, 0, 0, POSIX_FADV_DONTNEED)
  }

  /// The first offset with data at or after `offset`; nil if only a hole remains.
  ///
  /// Moves the offset at which `append` writes. A file system without holes has data everywhere.
  package func nextData(from offset: Int64) throws(SystemError) -> Int64? {
    do throws(SystemError) {
      return try Int64(calling("find data") { csystem_seek_data(raw, off_t(offset)) })
    } catch let error where error.errno == ENXIO {
      return nil
    } catch let error where error.errno == EINVAL {
      return try offset < status().size ? offset : nil
    }
  }

  /// The first offset in a hole at or after `offset`, where the end of the file counts as a hole;
  /// nil if `offset` is at or behind the end. Moves the offset at which `append` writes.
  package func nextHole(from offset: Int64) throws(SystemError) -> Int64? {
    do throws(SystemError) {
      return try Int64(calling("find a hole") { csystem_seek_hole(raw, off_t(offset)) })
    } catch let error where error.errno == ENXIO {
      return nil
    } catch let error where error.errno == EINVAL {
      let size = try status().size
      return offset < size ? size : nil
    }
  }

  /// Reads the whole of a small file.
  package func readAll(limit: Int, subject: String? = nil) throws(SystemError) -> [UInt8] {
    let size = Int(try status().size)
    guard size <= limit else { throw SystemError(reason: "it is too long", operation: "read", subject: subject) }
    var bytes = [UInt8](repeating: 0, count: size)
    let count = try readFully(at: 0, into: &bytes)
    bytes.removeSubrange(count...)
    return bytes
  }

  /// Reads to the end, also from a pipe; refuses more than `limit`, and an end after the deadline.
  package func readToEnd(limit: Int, until deadline: BootInstant? = nil) throws(SystemError) -> [UInt8] {
    var bytes: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      if let deadline {
        var poller = try Poller()
        guard try !poller.wait(for: .readable, on: raw, until: deadline).isEmpty else {
          throw SystemError(reason: "it takes too long", operation: "read")
        }
      }
      let count = try readNext(into: &block)
      if count == 0 { return bytes }
      guard bytes.count + count <= limit else { throw SystemError(reason: "it is too long", operation: "read") }
      bytes += block[..<count]
    }
  }
}

/// Reads small files that the local user or this program named in one piece.
package enum FileContent {
  /// Reads a regular file, following links; refuses a file longer than `limit`.
  package static func read(_ path: [UInt8], limit: Int) throws(SystemError) -> [UInt8] {
    let raw = try unsafe path.callingPath("open") {
      unsafe Glibc.open($0, OpenFlags.readOnly.kernelFlags | O_NOCTTY)
    }
    return try Descriptor(owning: raw).refusedUnlessRegular(path.escapedText).readAll(
      limit: limit, subject: path.escapedText)
  }

  /// Whether a path leads to a directory, also through links.
  package static func isDirectory(_ path: [UInt8]) -> Bool { (try? Directory.status(of: path))?.kind == .directory }

  /// The parent directory of a path, and the last component.
  package static func split(_ path: [UInt8]) -> (directory: [UInt8], name: [UInt8]) {
    guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return (Array(".".utf8), path) }
    return (slash == 0 ? [UInt8(ascii: "/")] : Array(path[..<slash]), Array(path[(slash + 1)...]))
  }
}
