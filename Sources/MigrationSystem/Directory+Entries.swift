import CSystem
import Glibc

extension Directory {
  /// Room for some hundred entries: the fewer calls, the better, but it has to fit the caches.
  private static let entryBufferSize = 32 << 10

  /// Calls `body` with each name here and what it stands for, if the file system tells, until it returns false.
  ///
  /// The order is the kernel's; "." and ".." are left out. The span ends with the call. Names that come and go
  /// meanwhile may or may not be seen. The position belongs to the open directory, so that one handle serves
  /// one iteration at a time. From the second one on the directory is opened anew: on CIFS a handle that was read
  /// once shows the same names again, whatever has changed since.
  package func forEachEntry(
    _ body: (_ name: Span<UInt8>, _ kind: FileKind?) throws(SystemError) -> Bool
  ) throws(SystemError) {
    let position = try calling("list") { lseek(raw, 0, SEEK_CUR) }
    if position == 0 { return try forEachEntryFromHere(body) }
    let again = unsafe openat(raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if again != -1 { return try Directory(owning: Descriptor(owning: again)).forEachEntryFromHere(body) }
    // It may be read, and not be entered.
    _ = try calling("list") { lseek(raw, 0, SEEK_SET) }
    try forEachEntryFromHere(body)
  }

  /// Calls `body` with each name that this handle has not shown yet.
  private func forEachEntryFromHere(
    _ body: (_ name: Span<UInt8>, _ kind: FileKind?) throws(SystemError) -> Bool
  ) throws(SystemError) {
    try unsafe withUnsafeTemporaryAllocation(byteCount: Self.entryBufferSize, alignment: 8) {
      (buffer) throws(SystemError) in
      while true {
        let count = try calling("list") { unsafe csystem_read_entries(raw, buffer.baseAddress!, buffer.count) }
        if count == 0 { return }
        var records = unsafe UnsafeRawBufferPointer(rebasing: buffer[..<count])
        while unsafe !records.isEmpty {
          let record = unsafe EntryRecord(records)
          if unsafe !record.isDot {
            let name = unsafe Span(_unsafeElements: record.name)
            if try unsafe !body(name, FileKind(entryType: record.type)) { return }
          }
          unsafe records = UnsafeRawBufferPointer(rebasing: records[record.length...])
        }
      }
    }
  }
}

/// One `linux_dirent64`: inode and offset (8 bytes each), length (2), type (1), then the NUL-terminated name.
@unsafe private struct EntryRecord {
  let length: Int
  let type: UInt8
  let name: UnsafeBufferPointer<UInt8>

  init(_ bytes: UnsafeRawBufferPointer) {
    unsafe length = unsafe Int(bytes.loadUnaligned(fromByteOffset: 16, as: UInt16.self))
    unsafe type = unsafe bytes[18]
    let start = unsafe bytes.baseAddress! + 19
    let count = unsafe strlen(start.assumingMemoryBound(to: CChar.self))
    unsafe name = unsafe UnsafeBufferPointer(start: start.assumingMemoryBound(to: UInt8.self), count: count)
  }

  /// Whether this is the directory itself or its parent.
  var isDot: Bool {
    let dot = UInt8(ascii: ".")
    return unsafe name[0] == dot && (name.count == 1 || name.count == 2 && name[1] == dot)
  }
}

extension Directory {
  /// Whether an entry has exactly this name; a file system may find it by others, too.
  package func lists(_ name: ArraySlice<UInt8>) throws(SystemError) -> Bool {
    var isListed = false
    try forEachEntry { (entry, _) throws(SystemError) in
      isListed = entry.count == name.count
      for index in entry.indices where isListed { isListed = entry[index] == name[name.startIndex + index] }
      return !isListed
    }
    return isListed
  }
}
