internal import MigrationSystem
internal import MigrationWire

/// An opened item that can be appended.
enum AppendableItem: ~Copyable {
  /// A file or a directory.
  case open(Descriptor)
  case symbolicLink(target: [UInt8], modified: ItemTime)

  /// Opens the item at a path; throws a `CocoaError`.
  init(opening path: [UInt8]) throws(CocoaError) {
    do throws(SystemError) {
      let descriptor = try Descriptor.open(path, .nonBlocking)
      let kind = try descriptor.status().kind
      guard kind == .regular || kind == .directory else {
        throw SystemError(reason: "it is neither a file nor a directory nor a link", operation: "append")
      }
      self = .open(descriptor)
    } catch {
      guard error.isSymbolicLink else { throw CocoaError(reading: path, error) }
      self = try Self.link(path)
    }
  }

  private static func link(_ path: [UInt8]) throws(CocoaError) -> AppendableItem {
    do throws(SystemError) {
      let (parent, name) = FileContent.split(path)
      let directory = try Directory.open(parent)
      let time = try directory.status(name).modified
      return .symbolicLink(
        target: try directory.readLink(name), modified: ItemTime(seconds: time.seconds, nanoseconds: time.nanoseconds))
    } catch {
      throw CocoaError(reading: path, error)
    }
  }
}
