import Expectations
import Foundation
import MigrationArchive
import MigrationEngine
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// A receiver that fails for a local reason, and its sender's report of that.
@Suite struct BrokenDiskTests {
  @Test func `a disk that fails at the receiver is told by its name at the sender, and is no lost connection`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    source.write("tree/file", patternData(1000))
    let importer = SlowImporter(FolderImporter(try StagingArea(at: Array(destination.path.utf8)))) { step, _ in
      guard step == .present else { return }
      // The received data goes into a directory that no longer exists.
      for name in destination.names() { try? FileManager.default.removeItem(atPath: destination.path(name) + "/tree") }
    }
    let receiver = try RunningReceiver(destination, giveUpAfter: 30, importer: importer)
    let sender = try RunningSender(
      [source.at("tree")], to: try receiver.port(), giveUpAfter: 30, code: try receiver.events.code())
    let (there, here) = (try #require(receiver.failure()), try #require(sender.failure()))
    expect((there.kind, here.kind) == (.failed, .failed))
    expect(here.message.hasPrefix("the other device stopped: its disk or its system has failed ('tree"))
    expect(here.message.contains("'tree"), "\(here.message)")
    expect(here.name == there.name && here.name?.starts(with: Array("tree".utf8)) == true)
    expect(there.hint?.contains("Repair the disk") == true && here.hint?.contains("Repair the fault there") == true)
  }
}
