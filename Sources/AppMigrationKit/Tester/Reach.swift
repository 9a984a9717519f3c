internal import MigrationSystem

/// The items that an exporter may append in a test: those in its app's container, in the containers
/// of its groups, in its directory for temporary files, and in its own bundle. On a device the
/// sandbox denies all other items.
struct Reach: Sendable {
  private let roots: [[UInt8]]

  /// The reach of an extension with these surroundings.
  init(
    _ surroundings: Surroundings, temporary: URL = FileManager.default.temporaryDirectory,
    bundle: URL = Bundle.main.bundleURL
  ) {
    let places = [surroundings.container.containerRootDirectory, temporary, bundle] + surroundings.groups.values
    roots = places.compactMap { place in
      // A missing directory has no items to append.
      guard let bytes = try? place.fileSystemBytes() else { return nil }
      return try? Self.directory(bytes)
    }
  }

  /// Opens the item at a path, through all links on the way to it; throws the `CocoaError` that the
  /// sandbox would cause.
  func open(_ path: [UInt8]) throws(CocoaError) -> AppendableItem {
    let item = try AppendableItem(opening: path)
    let isCovered: Bool
    do throws(SystemError) {
      switch item {
      case .open(let descriptor): isCovered = covers(try Self.place(descriptor.raw))
      case .symbolicLink: isCovered = covers(try Self.directory(FileContent.split(path).0))
      }
    } catch {
      throw CocoaError(reading: path, error)
    }
    guard isCovered else {
      throw CocoaError(reading: path, SystemError(errno: EACCES, operation: "open"))
    }
    return item
  }

  private func covers(_ place: [UInt8]) -> Bool {
    roots.contains { root in
      place == root || root == [UInt8(ascii: "/")] || place.starts(with: root + [UInt8(ascii: "/")])
    }
  }

  /// The path of a directory, without links.
  private static func directory(_ path: [UInt8]) throws(SystemError) -> [UInt8] {
    let directory = try SharedDirectory(Directory.open(path))
    return try withExtendedLifetime(directory) { () throws(SystemError) in try place(directory.directory.raw) }
  }

  /// The path of an open file, without links.
  private static func place(_ descriptor: CInt) throws(SystemError) -> [UInt8] {
    try Directory.open("/proc/self/fd").readLink("\(descriptor)")
  }
}
