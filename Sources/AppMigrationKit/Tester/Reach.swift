internal import MigrationSystem

/// What an exporter may append in a test: what is in its app's container, in the containers of its groups, in its directory
/// for temporary files, and in its own bundle. On a device its sandbox keeps it from everything else.
struct Reach: Sendable {
  private let roots: [[UInt8]]

  /// That of an extension with these surroundings.
  init(
    _ surroundings: Surroundings, temporary: URL = FileManager.default.temporaryDirectory,
    bundle: URL = Bundle.main.bundleURL
  ) {
    let places = [surroundings.container.containerRootDirectory, temporary, bundle] + surroundings.groups.values
    roots = places.compactMap { place in
      // What is not there has nothing that could be appended.
      guard let bytes = try? place.fileSystemBytes() else { return nil }
      return try? Self.directory(bytes)
    }
  }

  /// Opens what a path names, wherever links on the way to it lead; throws the `CocoaError` that the sandbox would make of it.
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

  /// Where a directory is, without links.
  private static func directory(_ path: [UInt8]) throws(SystemError) -> [UInt8] {
    let directory = try SharedDirectory(Directory.open(path))
    return try withExtendedLifetime(directory) { () throws(SystemError) in try place(directory.directory.raw) }
  }

  /// Where an open file is, without links.
  private static func place(_ descriptor: CInt) throws(SystemError) -> [UInt8] {
    try Directory.open("/proc/self/fd").readLink("\(descriptor)")
  }
}
