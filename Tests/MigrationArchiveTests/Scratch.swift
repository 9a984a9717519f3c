import Glibc
import MigrationSystem
import MigrationWire
import Testing

@testable import MigrationArchive

/// A fresh directory that goes away with everything in it. It holds `source`, `destination` and `outside`.
final class Scratch: Sendable {
  let path: String
  private let parent: String
  let directory: SharedDirectory

  /// `inMemory` asks for a file system on which syncing costs nothing, where there is one.
  init(inMemory: Bool = false) throws {
    parent = inMemory && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
    var template = Array("\(parent)/peer-archive-XXXXXX".utf8CString)
    _ = template.withUnsafeMutableBufferPointer { mkdtemp($0.baseAddress!) }
    path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    directory = SharedDirectory(try Directory.open(path))
    for name in ["source", "destination", "outside"] { try directory.directory.makeDirectory(name, mode: 0o755) }
    write("outside/secret", Array("secret".utf8))
  }

  deinit {
    try? Directory.open(parent).removeTree(String(path.dropFirst(parent.count + 1)))
  }

  /// The absolute path of something beneath.
  func at(_ name: String) -> [UInt8] { Array("\(path)/\(name)".utf8) }

  func open(_ name: String) throws -> SharedDirectory { SharedDirectory(try Directory.open(at(name))) }

  /// Writes a whole file, over an existing one if there is one.
  func write(_ name: String, _ bytes: [UInt8], mode: mode_t = 0o644) {
    let file = Glibc.open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
    precondition(file >= 0, "\(name): \(errno)")
    overwrite(file, bytes, at: 0)
    close(file)
  }

  /// Writes into an existing file.
  func patch(_ name: String, _ bytes: [UInt8], at offset: Int) {
    let file = Glibc.open("\(path)/\(name)", O_WRONLY | O_CLOEXEC)
    precondition(file >= 0)
    overwrite(file, bytes, at: offset)
    close(file)
  }

  private func overwrite(_ file: CInt, _ bytes: [UInt8], at offset: Int) {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes { pwrite(file, $0.baseAddress! + done, bytes.count - done, offset + done) }
      precondition(count > 0)
      done += count
    }
  }

  /// Lets the file system's clock move on: what has just changed is waited for by an export, or named anew each time.
  func letSettle() { usleep(20_000) }

  func makeDirectory(_ name: String) { precondition(mkdir("\(path)/\(name)", 0o755) == 0) }
  func makeLink(_ name: String, to target: String) { precondition(symlink(target, "\(path)/\(name)") == 0) }
  /// The whole content of a file.
  func read(_ name: String) -> [UInt8] {
    let file = Glibc.open("\(path)/\(name)", O_RDONLY | O_CLOEXEC)
    precondition(file >= 0, "\(name): \(errno)")
    defer { close(file) }
    var bytes: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = Glibc.read(file, &block, block.count), count > 0 { bytes += block[..<count] }
    return bytes
  }

  func remove(_ name: String) { precondition(unlink("\(path)/\(name)") == 0) }
  func setMode(_ name: String, _ mode: mode_t) { precondition(chmod("\(path)/\(name)", mode) == 0) }
  func cut(_ name: String, to size: Int) { precondition(truncate("\(path)/\(name)", size) == 0) }

  func move(_ name: String, to newName: String) {
    precondition(Glibc.rename("\(path)/\(name)", "\(path)/\(newName)") == 0)
  }

  func setTime(_ name: String, _ seconds: Int, _ nanoseconds: Int = 0) {
    let times = [timespec(tv_sec: 0, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: nanoseconds)]
    precondition(utimensat(AT_FDCWD, "\(path)/\(name)", times, AT_SYMLINK_NOFOLLOW) == 0)
  }

  /// The modification time in seconds and nanoseconds.
  func time(_ name: String) -> [Int] {
    var status = stat()
    precondition(lstat("\(path)/\(name)", &status) == 0)
    return [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
  }

  func exists(_ name: String) -> Bool {
    var status = stat()
    return lstat("\(path)/\(name)", &status) == 0
  }

  func names(_ name: String) -> [String] {
    TreeSnapshot.of("\(path)/\(name)", deep: false).entries.keys.map { String(decoding: $0, as: UTF8.self) }.sorted()
  }

  func snapshot(_ name: String) -> TreeSnapshot { TreeSnapshot.of("\(path)/\(name)") }

  /// How many descriptors of this process lead into this directory, whatever other tests do meanwhile.
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

/// Bytes that differ everywhere and are the same in every run.
func pattern(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
  var bytes = [UInt8](repeating: 0, count: count)
  var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
  bytes.withUnsafeMutableBytes { buffer in
    var offset = 0
    while offset + 8 <= count {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      buffer.storeBytes(of: state, toByteOffset: offset, as: UInt64.self)
      offset += 8
    }
    while offset < count {
      buffer[offset] = UInt8(truncatingIfNeeded: state >> 3) ^ UInt8(truncatingIfNeeded: offset)
      offset += 1
    }
  }
  return bytes
}

let isRoot = geteuid() == 0
