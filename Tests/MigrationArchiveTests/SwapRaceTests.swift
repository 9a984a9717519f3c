import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// A process that keeps exchanging a directory of staging with a symbolic link to the outside,
/// while files are written there.
private final class Swapper: Sendable {
  private let count = Mutex(0)
  private let isStopped = Mutex(false)
  private let thread = Mutex<RunningThread<Void>?>(nil)

  /// `directory` and `link` are names in a directory.
  init(in parent: SharedDirectory, _ directory: String, _ link: String) throws {
    let started = try RunningThread("swapper") { [self] in
      while !isStopped.withLock({ $0 }) {
        guard (try? parent.directory.exchange(directory, with: parent.directory, link)) != nil else { continue }
        count.withLock { $0 += 1 }
      }
    }
    thread.withLock { $0 = started }
  }

  var swaps: Int { count.withLock { $0 } }

  func stop() {
    isStopped.withLock { $0 = true }
    if thread.withLock({ $0 })?.hasEnded() == false { Issue.record(TookTooLong("the end of a swapper")) }
  }
}

@Suite struct SwapRaceTests {
  private static let leastSwaps = 10_000

  private let scratch: Scratch
  private let arrival: Arrival

  init() throws {
    scratch = try Scratch.withFolders()
    arrival = try Arrival(scratch, offer(items: 1_000_000, bytes: 1 << 24))
    try arrival.write([
      Crafted.frame { frame in for path in ["root", "root/d"] { frame.item(try record(path, .directory)) } }
    ])
    scratch.makeLink("\(arrival.tree)/root/link", to: "\(scratch.path)/outside")
  }

  private func swapping(_ body: (Swapper) throws -> Void) throws {
    let swapper = try Swapper(in: try scratch.open("\(arrival.tree)/root"), "d", "link")
    defer { swapper.stop() }
    try body(swapper)
  }

  @Test func `no exchange of a directory for a link leads a write to the outside`() throws {
    var (written, refused) = (0, 0)
    try swapping { swapper in
      let deadline = soon()
      var number = 0
      while swapper.swaps < Self.leastSwaps || written < 100 || refused < 100 {
        guard BootInstant.now() < deadline else { throw TookTooLong("that swaps meet writes often enough") }
        // Each from its own writer, which remembers no directory; then several that remember one.
        let writer = arrival.writer()
        for _ in 0..<4 {
          number += 1
          let file = try record("root/d/\(number)", .file(size: 3))
          let frame = Crafted.frame { $0.file(file, [1, 2, 3]) }
          do {
            try writer.write(frame)
            written += 1
          } catch is Failure {
            refused += 1
          }
        }
      }
    }
    expect(scratch.names("outside"), is: ["secret"])
    expect(scratch.read("outside/secret"), is: Array("secret".utf8))
  }

  @Test func `a writer that opens by path would write outside`() throws {
    try swapping { swapper in
      let deadline = soon()
      var number = 0
      while scratch.names("outside") == ["secret"], BootInstant.now() < deadline, swapper.swaps < 50 * Self.leastSwaps {
        number += 1
        close(open("\(scratch.path)/\(arrival.tree)/root/d/\(number)", O_CREAT | O_WRONLY, 0o600))
      }
    }
    expect(scratch.names("outside") != ["secret"])
  }
}
