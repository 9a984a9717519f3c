internal import MigrationHost
internal import MigrationSystem

extension AppendableArea {
  /// The area of an extension with these surroundings.
  init(
    _ surroundings: AppSurroundings, temporary: URL = FileManager.default.temporaryDirectory,
    bundle: URL = Bundle.main.bundleURL
  ) {
    let places = [surroundings.container.containerRootDirectory, temporary, bundle] + surroundings.groups.values
    self.init(places.compactMap { try? $0.fileSystemBytes() })
  }

  /// Opens the item at a path, through all links on the way to it; throws the `CocoaError` for an item
  /// outside.
  func open(_ path: [UInt8]) throws(CocoaError) -> AppendableItem {
    let item = try AppendableItem(opening: path)
    let isCovered: Bool
    do throws(SystemError) {
      switch item {
      case .open(let descriptor): isCovered = covers(try Self.place(of: descriptor))
      case .symbolicLink: isCovered = covers(try Directory.open(FileContent.split(path).0).canonicalPath())
      }
    } catch {
      throw CocoaError(reading: path, error)
    }
    guard isCovered else { throw CocoaError(reading: path, SystemError(errno: EACCES, operation: "open")) }
    return item
  }
}
