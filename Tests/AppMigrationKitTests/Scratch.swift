import Foundation
import MigrationSystem
import MigrationWire
import Testing

/// A fresh directory that goes away with everything in it; it holds an app's container and a group's.
final class Scratch: Sendable {
  let root: URL

  init() throws {
    root = FileManager.default.temporaryDirectory.appending(path: "peer-kit-\(UUID().uuidString)")
    for name in ["container/Documents", "container/Library/Application Support", "group"] {
      try FileManager.default.createDirectory(
        at: root.appending(path: name), withIntermediateDirectories: true)
    }
  }

  deinit { try? FileManager.default.removeItem(at: root) }

  var container: URL { at("container") }
  var group: URL { at("group") }

  func at(_ name: String) -> URL { URL(filePath: path(name), directoryHint: .notDirectory) }
  func path(_ name: String) -> String { "\(root.path)/\(name)" }

  func write(_ name: String, _ text: String = "content") throws {
    let parent = at(name).deletingLastPathComponent()
    try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: at(name))
  }

  func read(_ name: String) throws -> String { try String(contentsOf: at(name), encoding: .utf8) }

  func link(_ name: String, to target: String) throws {
    try FileManager.default.createSymbolicLink(atPath: path(name), withDestinationPath: target)
  }

  /// Everything beneath a directory: files with their contents, links with their targets, directories as "/".
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
