import CSystem
import Glibc

extension Directory {
  /// Space for some hundred entries: few calls, and small enough for the caches.
  private static let entryBufferSize = 32 << 10

  /// Calls `body` with each name in this directory and its type, if the file system reports it,
  /// until `body` returns false.
  ///
  /// The order is the kernel's; "." and ".." are left out. The span is valid only during the call.
  /// Names that are created or removed meanwhile may or may not be included. The position belongs
  /// to the open directory, so one handle serves one iteration at a time. From the second iteration
  /// on, the directory is opened again: on CIFS a handle that was read once returns the same names
  /// again, even after changes.
  package func forEachEntry(
    _ body: (_ name: Span<UInt8>, _ kind: FileKind?) throws(SystemError) -> Bool
  ) throws(SystemError) {
    let position = try calling("list") { lseek(raw, 0, SEEK_CUR) }
    if position == 0 { return try forEachEntryFromHere(body) }
    let again = unsafe openat(raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if again != -1 { return try Directory(owning: Descriptor(owning: again)).forEachEntryFromHere(body) }
    // The directory may be readable and not enterable.
    _ = try calling("list") { lseek(raw, 0, SEEK_SET) }
    try forEachEntryFromHere(body)
  }

  /// Calls `body` with each name that this handle has not returned yet.
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

/// One `linux_dirent64`: inode and offset (8 bytes each), length (2), type (1), then the
/// NUL-terminated name.
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
  /// Whether it has no entries.
  package func isEmpty() throws(SystemError) -> Bool {
    var isEmpty = true
    try forEachEntry { (_, _) throws(SystemError) in
      isEmpty = false
      return false
    }
    return isEmpty
  }

  /// Whether an entry has exactly this name; a file system may find it by other names, too.
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
