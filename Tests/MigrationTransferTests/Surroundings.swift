import Foundation
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// A destination, and beside it what an attack would be after.
///
/// With anything new in the destination, the rest must be unchanged, down to its inodes and times,
/// and unread.
final class Surroundings {
  let destination: Scratch
  private let ground: Scratch
  private let contents: [String: Data]
  private let states: [String: State]

  /// The kernel's facts about a file, directory or link.
  private struct State: Equatable {
    let mode: mode_t
    let inode: ino_t
    let links: nlink_t
    let owner: uid_t
    let size: off_t
    let modified: [Int]
    let changed: [Int]
    /// When its content was read last; of a directory that says nothing, since the test itself
    /// looks into it.
    let read: [Int]?

    init(_ status: stat) {
      mode = status.st_mode
      inode = status.st_ino
      links = status.st_nlink
      owner = status.st_uid
      size = status.st_size
      modified = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
      changed = [status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
      read = status.st_mode & S_IFMT == S_IFREG ? [status.st_atim.tv_sec, status.st_atim.tv_nsec] : nil
    }
  }

  init() throws {
    // Disks have limits for a file's size and attributes, and write down that a file was read.
    ground = try Scratch(onDisk: true)
    destination = try Scratch("destination", in: ground)
    ground.write("secret", Data("secret".utf8))
    ground.write("outside/secret", Data("secret".utf8))
    ground.write("outside/empty/.keep", [])
    try FileManager.default.createSymbolicLink(atPath: ground.path + "/outside/link", withDestinationPath: "secret")
    contents = Self.contents(ground.path)
    // Older than the content: then the next read is written down, also where only the first one
    // after a change is.
    for name in contents.keys {
      var times = [timespec(tv_sec: 1_000_000_000, tv_nsec: 0), timespec(tv_sec: 1_100_000_000, tv_nsec: 0)]
      try #require(utimensat(AT_FDCWD, ground.path + "/" + name, &times, AT_SYMLINK_NOFOLLOW) == 0)
    }
    states = try Self.states(ground.path)
  }

  /// An absolute path that leads out of the destination.
  var outside: String { ground.path + "/outside" }
  /// The same from within a root there.
  static let outsideFromRoot = "../../outside"

  /// The items outside the destination that were made, changed, removed or read.
  var differences: [String] {
    get throws {
      // The states first, since contents are read.
      let (states, contents) = (try Self.states(ground.path), Self.contents(ground.path))
      let names = Set(states.keys).union(self.states.keys)
      return names.filter { states[$0] != self.states[$0] || contents[$0] != self.contents[$0] }.sorted()
    }
  }

  func expectUntouched(sourceLocation: SourceLocation = #_sourceLocation) throws {
    #expect(try differences == [], sourceLocation: sourceLocation)
  }

  /// Nothing of an attack has come into sight at the destination.
  func expectNothingArrived(sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(destination.names().allSatisfy { $0.hasPrefix(".peer-") }, sourceLocation: sourceLocation)
  }

  /// A receiver, started as soon as the one before has let go of the destination.
  func receiver(store: TransferStore? = nil, port: UInt16 = 0, giveUpAfter: Double = 0) throws -> RunningReceiver {
    let deadline = soon()
    while true {
      do {
        return try RunningReceiver(destination, port: port, giveUpAfter: giveUpAfter, store: store)
      } catch let error as TransferFailure where error.kind == .refused && BootInstant.now() < deadline {
        sched_yield()
      }
    }
  }

  /// Fails unless an honest sender's file arrives at the same destination.
  func expectHonestArrival(sourceLocation: SourceLocation = #_sourceLocation) throws {
    let source = try Scratch()
    source.write("honest", Data("honest".utf8))
    let receiver = try receiver()
    _ = try send([source.at("honest")], to: try receiver.port(), code: try receiver.events.code())
    #expect(try receiver.result().total == Tally(items: 1, bytes: 6), sourceLocation: sourceLocation)
    #expect(destination.content("honest") == Data("honest".utf8), sourceLocation: sourceLocation)
  }

  private static func names(_ path: String) -> [String] {
    let names = (try? FileManager.default.subpathsOfDirectory(atPath: path)) ?? []
    return [""] + names.filter { $0 != "destination" && !$0.hasPrefix("destination/") }
  }

  private static func states(_ path: String) throws -> [String: State] {
    try names(path).reduce(into: [:]) { states, name in
      var status = stat()
      try #require(lstat(path + "/" + name, &status) == 0)
      states[name] = State(status)
    }
  }

  /// The files' contents. A link is not followed.
  private static func contents(_ path: String) -> [String: Data] {
    names(path).reduce(into: [:]) { contents, name in
      var status = stat()
      guard lstat(path + "/" + name, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return }
      contents[name] = FileManager.default.contents(atPath: path + "/" + name)
    }
  }
}

@Suite struct SurroundingsTests {
  @Test func `every change outside the destination is noticed`() throws {
    let acts: [(String) -> Void] = [
      { _ = FileManager.default.contents(atPath: $0 + "/secret") },
      { mkdir($0 + "/new", 0o700) }, { chmod($0 + "/secret", 0o600) }, { unlink($0 + "/link") },
      { link($0 + "/secret", $0 + "/second") },
    ]
    for act in acts {
      let surroundings = try Surroundings()
      try surroundings.expectUntouched()
      act(surroundings.outside)
      #expect(try surroundings.differences != [])
    }
  }
}
