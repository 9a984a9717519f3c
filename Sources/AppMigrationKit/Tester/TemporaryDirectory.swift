internal import MigrationSystem

/// A fresh directory that goes away, with everything in it, when nobody needs it any more.
final class TemporaryDirectory: Sendable {
  /// Its path needs no percent encoding, so that authors may put paths together from URLs.
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
    // What cannot be removed is left to the system that cleans its temporary directory.
    try? Directory.open(parent).removeTree(ifThere: name)
  }

  /// A directory within, made with all that are above it.
  func directory(_ name: String) throws -> URL {
    _ = try Directory.openOrMake(Array("\(path)/\(name)".utf8), mode: 0o700)
    return URL(directory: "\(path)/\(name)")
  }
}
