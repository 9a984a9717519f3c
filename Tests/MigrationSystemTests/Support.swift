import Glibc
import TestSupport

@testable import MigrationSystem

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

/// The number of the error that `body` throws; nil if it throws none.
func failure(_ body: () throws(SystemError) -> Void) -> CInt? { thrown(by: body)?.errno }
