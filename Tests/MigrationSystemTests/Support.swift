import Glibc
import Testing

@testable import MigrationSystem

/// A fresh directory that goes away with everything in it.
final class Scratch {
  let path: String
  let directory: Directory

  init() throws {
    var template = Array("/tmp/peer-system-XXXXXX".utf8CString)
    _ = template.withUnsafeMutableBufferPointer { mkdtemp($0.baseAddress!) }
    path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    directory = try Directory.open(path)
  }

  deinit {
    try? Directory.open("/tmp").removeTree(String(path.dropFirst(5)))
  }

  func write(_ name: String, _ text: String) throws {
    try directory.createFile(name).append(text.utf8.span.bytes)
  }

  func names() throws -> [[UInt8]] {
    try directory.names()
  }
}

extension Directory {
  func names() throws(SystemError) -> [[UInt8]] {
    var names: [[UInt8]] = []
    try forEachEntry { (name, _) throws(SystemError) in
      names.append(name.copied())
      return true
    }
    return names
  }
}

extension Span<UInt8> {
  func copied() -> [UInt8] {
    withUnsafeBufferPointer { Array($0) }
  }
}

extension Descriptor {
  func text() throws(SystemError) -> String {
    var bytes = [UInt8](repeating: 0, count: 4096)
    var target = bytes.mutableSpan
    let count = try target.withUnsafeMutableBytes { (buffer) throws(SystemError) in
      try readFully(at: 0, into: buffer)
    }
    return String(decoding: bytes[..<count], as: UTF8.self)
  }
}

/// The error number of what `body` throws; nil if it throws nothing.
func failure(_ body: () throws(SystemError) -> Void) -> CInt? {
  do {
    try body()
    return nil
  } catch {
    return error.errno
  }
}

/// What must be over long before, unless something is broken.
func soon() -> BootInstant {
  .now() + .seconds(20)
}
