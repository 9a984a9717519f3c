import Glibc

/// Reads small files that the local user or this program named in one piece.
package enum FileContent {
  /// Reads a file, following links; refuses a file longer than `limit`.
  package static func read(_ path: [UInt8], limit: Int) throws(SystemError) -> [UInt8] {
    let raw = try unsafe path.callingPath("open") { unsafe Glibc.open($0, O_RDONLY | O_CLOEXEC | O_NOCTTY) }
    let file = Descriptor(owning: raw)
    guard try file.status().kind == .regular else {
      throw SystemError(reason: "it is not a regular file", operation: "read", subject: path.escapedText)
    }
    return try file.readAll(limit: limit, subject: path.escapedText)
  }

  /// Whether a path leads to a directory, also through links.
  package static func isDirectory(_ path: [UInt8]) -> Bool { (try? Directory.status(of: path))?.kind == .directory }

  /// The parent directory of a path, and the last component.
  package static func split(_ path: [UInt8]) -> (directory: [UInt8], name: [UInt8]) {
    guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return (Array(".".utf8), path) }
    return (slash == 0 ? [UInt8(ascii: "/")] : Array(path[..<slash]), Array(path[(slash + 1)...]))
  }
}

extension Descriptor {
  /// Reads the whole of a small file.
  package func readAll(limit: Int, subject: String? = nil) throws(SystemError) -> [UInt8] {
    let size = Int(try status().size)
    guard size <= limit else { throw SystemError(reason: "it is too long", operation: "read", subject: subject) }
    var bytes = [UInt8](repeating: 0, count: size)
    let count = try readFully(at: 0, into: &bytes)
    bytes.removeSubrange(count...)
    return bytes
  }

  /// Reads to the end, also from a pipe; refuses more than `limit`.
  package func readToEnd(limit: Int) throws(SystemError) -> [UInt8] {
    var bytes: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = try readNext(into: &block)
      if count == 0 { return bytes }
      guard bytes.count + count <= limit else { throw SystemError(reason: "it is too long", operation: "read") }
      bytes += block[..<count]
    }
  }
}
