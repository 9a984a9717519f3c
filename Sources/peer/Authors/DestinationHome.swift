import MigrationArchive
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// The PEER_HOME of the receiving app in a migration on one device.
struct DestinationHome: Equatable, Sendable {
  /// The absolute path, without links.
  let path: [UInt8]
  /// Whether it was created for this migration.
  let isNew: Bool

  /// Opens a directory, which is created if it is missing, or creates a new one among the temporary
  /// files.
  ///
  /// - Parameter source: the PEER_HOME that the data comes from. The two may not be inside each
  ///   other.
  init(_ chosen: [UInt8]?, apart source: [UInt8]) throws(Failure) {
    let source = try Self.place(of: source)
    guard let chosen else {
      let home = try TemporaryHome(prefix: "peer-migrated-", hint: Self.elsewhere)
      do {
        try Self.check(home.path, apart: source, hint: Self.elsewhere)
      } catch {
        home.remove()
        throw error
      }
      (path, isNew) = (home.path, true)
      return
    }
    let hint = Self.other
    // This is checked before anything is created there.
    let place = try Self.place(of: chosen)
    try Self.check(place, apart: source, hint: hint)
    try AppHome.check(place, hint: hint)
    try TransferStore.check(chosen, hint: hint)
    path = try Failure.wrapping(
      .refused, "\(VisibleText.quoted(chosen)) cannot be used", hint: hint,
      Directory.openOrMake(chosen, mode: 0o700).canonicalPath())
    isNew = false
  }

  /// Installs the receiving app.
  func install(_ bundle: AppBundle) throws(Failure) {
    do {
      _ = try AppHome(home: path).install(bundle.path)
    } catch {
      throw error.code == .noSpace ? error.hinting(isNew ? Self.elsewhere : Self.other) : error
    }
  }

  /// Removes a directory that was created for a migration which never began.
  func discard() {
    if isNew { TemporaryHome(at: path).remove() }
  }

  private static let elsewhere = "Set TMPDIR to another directory, or use --home DIR."
  private static let other = "Name another directory, or omit --home."
  private static let slash = UInt8(ascii: "/")

  private static func check(_ path: [UInt8], apart source: [UInt8], hint: String) throws(Failure) {
    let clause: String
    if path == source {
      clause = "is the PEER_HOME of the data"
    } else if path.starts(with: source + [slash]) || source == [slash] {
      clause = "is inside the PEER_HOME of the data, \(VisibleText.quoted(source))"
    } else if source.starts(with: path + [slash]) || path == [slash] {
      clause = "contains the PEER_HOME of the data, \(VisibleText.quoted(source))"
    } else {
      return
    }
    throw Failure(.refused, "the home \(VisibleText.quoted(path)) \(clause)", hint: hint)
  }

  /// The path of a directory without links; of a missing directory, the existing part is resolved.
  private static func place(of path: [UInt8]) throws(Failure) -> [UInt8] {
    var here = path
    while here.count > 1, here.last == slash { here.removeLast() }
    do throws(SystemError) {
      return try Directory.open(here).canonicalPath()
    } catch {
      guard error.isNotFound else {
        throw Failure(.refused, "\(VisibleText.quoted(path)) cannot be opened: \(error.words)")
      }
    }
    let (parent, name) = FileContent.split(here)
    guard name != Array("..".utf8), name != Array(".".utf8), !name.isEmpty else {
      throw Failure(.refused, "\(VisibleText.quoted(path)) leads through a missing directory")
    }
    let above = try place(of: parent)
    return (above == [slash] ? [] : above) + [slash] + name
  }
}
