import MigrationSystem
import MigrationWire

/// The old data that the imports of one run have set aside, by app. Other entries with such names
/// were not set aside.
final class Asides: Sendable {
  /// Old data: the place that it had, and the name that it has.
  struct Aside: Equatable, Sendable {
    let place: [UInt8]
    let name: [UInt8]

    func absolute(in home: [UInt8]) -> Aside {
      let start = home + [UInt8(ascii: "/")]
      return Aside(place: start + place, name: start + name)
    }
  }

  private let known = Mutex<[String: [Aside]]>([:])

  func of(_ app: String) -> [Aside] { known.withLock { $0[app] ?? [] } }

  /// Notes what an import has set aside, and tells the user.
  func note(_ paths: [(place: ArchivePath, name: ArchivePath)], of app: String, _ tell: (String) -> Void) {
    guard !paths.isEmpty else { return }
    let asides = paths.map { Aside(place: $0.place.bytes, name: $0.name.bytes) }
    known.withLock { $0[app] = asides }
    let names = asides.map { "\(VisibleText.quoted($0.place)) as \(VisibleText.quoted($0.name))" }
    tell("what was here before is kept: " + names.joined(separator: ", "))
  }
}
