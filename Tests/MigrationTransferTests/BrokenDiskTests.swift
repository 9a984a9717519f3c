import Foundation
import MigrationArchive
import MigrationEngine
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// A receiver that fails for a reason of its own, and what its sender says of it.
@Suite struct BrokenDiskTests {
  @Test func `a disk that fails at the receiver is told by its name at the sender, and is no lost connection`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    source.write("tree/file", patternData(1000))
    let importer = SlowImporter(FolderImporter(try StagingArea(at: Array(destination.path.utf8)))) { step, _ in
      guard step == .present else { return }
      // What is received goes into a directory that is not there any more.
      for name in destination.names() { try? FileManager.default.removeItem(atPath: destination.path(name) + "/tree") }
    }
    let receiver = try RunningReceiver(destination, giveUpAfter: 30, importer: importer)
    let sender = try RunningSender(
      [source.at("tree")], to: try receiver.port(), giveUpAfter: 30, code: try receiver.events.code())
    let (there, here) = (try #require(receiver.failure()), try #require(sender.failure()))
    #expect((there.kind, here.kind) == (.failed, .failed))
    #expect(here.message == "the other device stopped: \(there.message)")
    #expect(here.message.contains("'tree"), "\(here.message)")
    #expect(here.subject.name == there.subject.name && here.subject.name?.starts(with: Array("tree".utf8)) == true)
    #expect(here.hint == there.hint && here.hint?.contains("mended") == true)
  }
}

/// What a CLOSE says besides its message, in words.
@Suite struct ToldFailureTests {
  private func words(_ close: Close) -> String { TransferFailure(told: close).message }

  @Test func `room that is missing is told in sizes for people`() {
    let bytes = Close.Space(needed: 12_300_000_000, available: 4_100_000_000)
    #expect(
      words(Close(.noSpace, "not enough space: 12300000000 bytes", bytes: bytes))
        == "the other device stopped: there is not enough space; it needs 12.3 GB and has 4.1 GB")
    let items = Close.Space(needed: 1_204, available: 12)
    #expect(
      words(Close(.noSpace, "no", bytes: Close.Space(needed: 4_100_000_001, available: 4_100_000_000), items: items))
        == "the other device stopped: there is not enough space; it needs 4,100,000,001 bytes and has 4,100,000,000 bytes; "
        + "it needs 1,204 file system entries and has 12")
    #expect(
      words(Close(.noSpace, "no", bytes: bytes, items: Close.Space(needed: 9, available: 3_000_000)))
        == "the other device stopped: there is not enough space; it needs 12.3 GB and has 4.1 GB")
    #expect(
      words(Close(.noSpace, "writing 'a' failed", name: [0x61])) == "the other device stopped: writing 'a' failed")
  }

  @Test func `a name that the message does not have is added, and can do nothing on a terminal`() {
    #expect(
      words(Close(.exists, "it exists", name: Array("a\u{1B}b".utf8)))
        == "the other device stopped: it exists ($'a\\x1bb')")
    #expect(
      words(Close(.exists, "$'a\\x1bb' exists", name: Array("a\u{1B}b".utf8)))
        == "the other device stopped: $'a\\x1bb' exists")
    let long = words(Close(.storage, "no", name: [UInt8](repeating: 0x61, count: 60_000)))
    #expect(long.count < 600 && long.hasSuffix("aaa')"))
  }

  @Test func `what is told is kept exact for programs`() {
    let (bytes, items) = (Close.Space(needed: 2, available: 1), Close.Space(needed: 4, available: 3))
    let failure = TransferFailure(told: Close(.noSpace, "no", name: [0xFF], bytes: bytes, items: items))
    #expect(failure.subject == TransferFailure.Subject(name: [0xFF], bytes: bytes, items: items))
  }
}
