internal import MigrationSystem

/// A fresh directory that is removed, with its contents, with the last reference to it.
final class TemporaryDirectory: Sendable {
  /// Its path needs no percent encoding, so that authors can make paths from URLs.
  let path: String

  init() throws {
    let places = [Environment.get("TMPDIR"), "/tmp"].compactMap { $0 }
    let place = places.first { URL(directory: $0).path(percentEncoded: true) == $0 } ?? "/tmp"
    path = "\(place.last == "/" ? String(place.dropLast()) : place)/peer-tester-\(UUID().uuidString)"
    try Directory.make(path, mode: 0o700)
  }

  deinit { remove() }

  func remove() {
    let (parent, name) = FileContent.split(Array(path.utf8))
    // The system cleans its temporary directory later if this removal fails.
    try? Directory.open(parent).removeTree(ifThere: name)
  }

  /// A directory within it, made together with its parents.
  func directory(_ name: String) throws -> URL {
    _ = try Directory.openOrMake(Array("\(path)/\(name)".utf8), mode: 0o700)
    return URL(directory: "\(path)/\(name)")
  }
}
