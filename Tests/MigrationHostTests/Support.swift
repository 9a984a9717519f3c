import Foundation
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationHost

/// A home for apps in a scratch directory. It is in memory, because all its changes are synced.
extension Scratch {
  /// The directory of the apps.
  var homePath: [UInt8] { at("home") }

  func home() throws -> AppHome { try AppHome(home: homePath) }

  /// A home in which the change with this number, counted from zero, fails, and all later ones.
  func home(failingAt number: Int, renaming: Directory.RenameMethod = .preferred) throws -> AppHome {
    let count = Counter()
    return try AppHome(home: homePath, renaming: renaming) { (change) throws(Failure) in
      if count.next() >= number { throw Failure(.crash, change) }
    }
  }

  /// Installs a bundle.
  @discardableResult
  func install(_ bundle: SampleBundle = SampleBundle()) throws -> InstalledApp {
    try home().install(try bundle.write(in: self)).app
  }
}

extension Failure.Code {
  /// The end of a process, as far as a test can simulate it.
  static let crash = Failure.Code.superseded
}

private final class Counter: Sendable {
  private let count = Condition(0)

  func next() -> Int {
    count.withLock { count in
      defer { count += 1 }
      return count
    }
  }
}

extension InstalledApp {
  /// Takes the lock once it is free. A process that another test is starting has a copy of every
  /// descriptor, until its program is loaded.
  func lockOnceFree(_ use: AppLock.Use) throws -> AppLock {
    let deadline = soon()
    while BootInstant.now() < deadline {
      if let lock = try? lock(use) { return lock }
      sched_yield()
    }
    return try lock(use)
  }
}

/// The contents of a directory by path: the content of a file, the target of a link, or nil for a
/// directory.
func tree(_ path: String) -> [String: String?] {
  var found: [String: String?] = [:]
  guard let walk = FileManager.default.enumerator(atPath: path) else { return found }
  for case let name as String in walk {
    let place = "\(path)/\(name)"
    var status = stat()
    guard lstat(place, &status) == 0 else { continue }
    switch status.st_mode & S_IFMT {
    case S_IFDIR: found[name] = String?.none
    case S_IFLNK: found[name] = (try? FileManager.default.destinationOfSymbolicLink(atPath: place)).map { "-> \($0)" }
    default: found[name] = content(place)
    }
  }
  return found
}

/// A file's content; nil if there is none.
func content(_ path: String) -> String? {
  (try? FileContent.read(Array(path.utf8), limit: 1 << 20)).map { String(decoding: $0, as: UTF8.self) }
}

func write(_ text: String, to path: String, mode: mode_t = 0o644) throws {
  let (folder, _) = FileContent.split(Array(path.utf8))
  try FileManager.default.createDirectory(
    atPath: String(decoding: folder, as: UTF8.self), withIntermediateDirectories: true)
  try text.write(toFile: path, atomically: false, encoding: .utf8)
  try #require(chmod(path, mode) == 0)
}

func exists(_ path: String) -> Bool {
  var status = stat()
  return lstat(path, &status) == 0
}

func mode(_ path: String) -> mode_t {
  var status = stat()
  return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
}

/// Runs tests of this program in a process with another environment. Returns its exit code.
func runAgain(_ filter: String, environment: [String: String]) throws -> CInt {
  try run(
    "/proc/self/exe", ["tests", "--testing-library", "swift-testing", "--filter", filter],
    environment: environment.map { "\($0.key)=\($0.value)" }
  ).code
}
