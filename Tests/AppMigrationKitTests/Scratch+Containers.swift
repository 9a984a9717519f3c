import Foundation
import MigrationSystem
import MigrationWire
import TestSupport

/// The files of the tests of extensions in a scratch directory.
extension Scratch {
  /// A scratch directory with an app's container and a group's.
  static func withContainer() throws -> Scratch {
    let scratch = try Scratch()
    for name in ["container/Documents", "container/Library/Application Support", "group"] {
      scratch.makeDirectory(name)
    }
    return scratch
  }

  var container: URL { url("container") }
  var group: URL { url("group") }

  func url(_ name: String) -> URL { URL(filePath: path(name), directoryHint: .notDirectory) }

  /// Writes a file with arbitrary content.
  func write(_ name: String) { write(name, "content") }

  /// All items below a directory: files with their contents, links with their targets, directories
  /// as "/".
  static func contents(of directory: URL) throws -> [String: String] {
    var contents: [String: String] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: directory.path) {
      let item = directory.appending(path: name)
      let attributes = try FileManager.default.attributesOfItem(atPath: item.path)
      switch attributes[.type] as? FileAttributeType {
      case .typeDirectory: contents[name] = "/"
      case .typeSymbolicLink:
        contents[name] = "-> " + (try FileManager.default.destinationOfSymbolicLink(atPath: item.path))
      default: contents[name] = try String(contentsOf: item, encoding: .utf8)
      }
    }
    return contents
  }

  /// The names in a directory, as bytes, in order.
  static func names(in directory: String) throws -> [[UInt8]] {
    var names: [[UInt8]] = []
    try Directory.open(directory).forEachEntry { (name, _) throws(SystemError) in
      names.append([UInt8](copying: name))
      return true
    }
    return names.sorted { $0.lexicographicallyPrecedes($1) }
  }
}
