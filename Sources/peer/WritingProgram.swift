import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire

/// A program that has a file open for writing, as far as this user may see it.
struct WritingProgram: Equatable, Sendable {
  let name: String
  let process: String

  /// The first program that may write to the file at an absolute path without links.
  static func of(_ path: [UInt8]) -> WritingProgram? {
    guard let processes = try? Directory.open(Array("/proc".utf8)) else { return nil }
    var found: WritingProgram?
    try? processes.forEachEntry { (name, _) throws(SystemError) in
      let process = String(decoding: [UInt8](copying: name), as: UTF8.self)
      if process.allSatisfy(\.isNumber), writes(process, to: path) {
        let program = (try? Descriptor.openThroughLinks(Array("/proc/\(process)/comm".utf8)).readToEnd(limit: 64)) ?? []
        found = WritingProgram(name: VisibleText.listed(program.dropLast()), process: process)
      }
      return found == nil
    }
    return found
  }

  private static func writes(_ process: String, to path: [UInt8]) -> Bool {
    guard let files = try? Directory.open(Array("/proc/\(process)/fd".utf8)) else { return false }
    var isFound = false
    try? files.forEachEntry { (name, _) throws(SystemError) in
      let number = String(decoding: [UInt8](copying: name), as: UTF8.self)
      if (try? files.readLink(name)) == path {
        let about =
          (try? Descriptor.openThroughLinks(Array("/proc/\(process)/fdinfo/\(number)".utf8)).readToEnd(limit: 4096))
          ?? []
        isFound = mayWrite(about)
      }
      return !isFound
    }
    return isFound
  }

  /// Whether the kernel's description of an open file has flags for writing.
  private static func mayWrite(_ about: [UInt8]) -> Bool {
    let flags = String(decoding: about, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("flags:") }
    return flags?.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0, radix: 8) }.map { $0 & 3 != 0 } ?? false
  }
}

extension FolderSource {
  /// The absolute path of an item, without links; nil if its source can no longer be found.
  fileprivate func place(of path: [UInt8]) -> [UInt8]? {
    let slash = UInt8(ascii: "/")
    let name = path.prefix { $0 != slash }
    guard let root = (try? origin())?.first(where: { $0.split(separator: slash).last == name }) else { return nil }
    // The folder behind a link.
    let base = root.last == slash ? try? Directory.open(root).canonicalPath() : root
    return base.map { $0 + path.dropFirst(name.count) }
  }
}

extension TransferEvent {
  /// The same event; with the program that writes to the file, if the file kept changing.
  func namingWriter(at source: FolderSource) -> TransferEvent {
    guard case .notStored(let item, nil) = self, item.reason == .keepsChanging,
      let writer = source.place(of: item.path).flatMap({ WritingProgram.of($0) })
    else { return self }
    return .notStored(item, note: "\(writer.name), process \(writer.process), writes to it")
  }
}
