import Expectations
import Foundation
import Glibc
import MigrationArchive
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationHost

/// The ways in which an extension goes wrong, each with the words that its author reads. The extension is
/// a real process.
@Suite struct AuthorTableTests {
  /// Ways to import, and a part of the failure, or of a note.
  static let imports: [(way: String, words: String)] = [
    ("throw", "the importer of org.example.test failed: the author's own words; the data has version 1.0"),
    ("throw", "has failed and left 1 item in its groups, which nothing empties: 'group.org.example.test/half'"),
    ("crash", "the importer of org.example.test was ended by signal 11 (segmentation fault)"),
    ("leave", "the importer of org.example.test ended with status 0"),
    ("link out", "has replaced 'Documents' of the container by a symbolic link that leads out of it"),
    ("no space", "not enough space: the importer of org.example.test failed: "),
    ("take nothing", "has taken nothing of the 16 B that have arrived"),
    ("no progress", "showed no progress of its import until the end"),
    ("pause", "has shown no progress for 0.1 seconds; it may take any time, and Ctrl-C at the receiver cancels it"),
  ]

  @Test(arguments: imports)
  func `an author reads why an import went wrong`(way: String, words: String) throws {
    let (old, new, news) = (try AppDevice(["kept": "text", "behaviour": way]), try AppDevice(), News())
    var options = AppImporter.Options()
    options.draft = new.app.bundle.path
    options.quietTime = 0.1
    let importer = try AppImporter(app: AppDevice.identifier, home: try new.scratch.home(), options: options) {
      news.note($0)
    }
    let error = archiveError { try Migration(from: try old.source()).arrive(at: importer) }
    let read = [error?.description].compactMap(\.self) + news.notices
    expect(read.contains { $0.contains(words) }, "\(read)")
  }

  @Test func `where everything is in order, an author reads nothing`() throws {
    let (old, new, news) = (try AppDevice(["kept": "text"]), try AppDevice(), News())
    try Migration(from: try old.source(news)).arrive(at: try new.importer(news))
    expect(news.notices, is: [])
    expect(news.refused, is: [])
  }
}
