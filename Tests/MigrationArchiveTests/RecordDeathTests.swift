import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// A receiver that is killed behind an import, while it records what arrived, and a later run that completes
/// the records.
@Suite struct RecordDeathTests {
  /// What three passes have brought, and to what the destination has come.
  private struct Course: Equatable {
    var sent: [[String]] = []
    var following: [[String]] = []
    var refused: [[String]] = []
    var away: [String] = []
    var leftOut: [LeftOut] = []
    var removed = Done.Removed()
    var outcome: [String: String] = [:]
    /// The lengths of the records behind each pass.
    var ends: [Int] = []
  }

  /// Three passes of one source, of which the one with this index dies; the last brings changes that keep
  /// size and time.
  private func course(_ death: Passes.Death = .none, in dying: Int = 0) throws -> Course {
    let scratch = try Scratch.withFolders()
    for side in ["source", "destination"] { scratch.makeDirectory("\(side)/root") }
    func write(_ name: String, _ content: String, to side: String = "source", time: Int = 1_500_000_000) {
      let folders = name.split(separator: "/").dropLast()
      for count in 1..<(folders.count + 1) {
        let folder = "\(side)/root/\(folders.prefix(count).joined(separator: "/"))"
        if !scratch.exists(folder) { scratch.makeDirectory(folder) }
      }
      scratch.write("\(side)/root/\(name)", content)
      scratch.setTime("\(side)/root/\(name)", time)
    }
    var course = Course()
    func pass() throws {
      let isDying = course.sent.count == dying
      let pass = try Passes(scratch).pass(from: SourceIdentity(1), dying: isDying ? death : .none)
      course.sent.append(pass.sent)
      course.following.append(pass.following)
      course.refused.append(pass.refused)
      course.away = pass.away.sorted()
      course.leftOut.append(pass.leftOut)
      course.removed = pass.removed
      course.ends.append(scratch.read(Passes.record).count)
    }
    let names = ["again", "f/deep", "f/same", "mode", "newer", "removed", "gone/in", "work/.git/refs", "work/a"]
    for name in names { write(name, "first") }
    // The user's own: it comes, and is not put in place.
    for name in ["mine/.git/refs", "mine/a"] {
      for side in ["source", "destination"] { write(name, "equal", to: side) }
    }
    write("f/own", "own", to: "destination")
    expect(link(scratch.path("source/root/f/deep"), scratch.path("source/root/other name")), is: 0)
    try pass()

    for name in ["again", "newer", "work/a"] { write(name, "second", time: 1_600_000_000) }
    write("f/new", "second")
    scratch.setMode("source/root/mode", 0o604)
    for name in ["newer", "removed", "gone"] { scratch.move("destination/root/\(name)", to: "moved \(name)") }
    try pass()

    for name in ["again", "f/new", "work/a"] {
      write(name, "other.", time: name == "f/new" ? 1_500_000_000 : 1_600_000_000)
    }
    for name in ["f/same", "f/deep", "mode"] { write(name, "other") }
    write("mine/a", "newer", time: 1_600_000_000)
    try pass()
    for name in scratch.snapshot("destination").entries.keys.map({ String(decoding: $0, as: UTF8.self) }) {
      let isFile = !scratch.exists("destination/\(name)/.")
      course.outcome[name.replacing(/before-\d{4}-\d\d-\d\d/, with: "before")] =
        isFile ? scratch.text("destination/\(name)") : ""
    }
    return course
  }

  @Test(arguments: [0, 1])
  func `a receiver that dies at any byte of its records completes them, and later changes follow`(_ dying: Int) throws {
    let whole = try course()
    expect(
      whole.sent[2],
      is: [
        "again", "f/deep", "f/new", "f/same", "mine/.git/refs", "mine/a", "mode", "other name", "work/.git/refs",
        "work/a",
      ])
    expect(whole.refused == [[], ["newer"], []] && whole.following[1] == ["mode"])
    expect(whole.outcome["root/again"] == "other." && whole.outcome["root/f/same"] == "other")
    expect(whole.outcome["root/mine/a"] == "equal" && whole.outcome["root/mine (2)/a"] == "newer")
    let length = whole.ends[dying] - (dying == 0 ? 0 : whole.ends[dying - 1])
    expect(length > 500)
    for at in stride(from: 0, through: length, by: 100 * Rounds.step) + [length] {
      var found = try course(.recording(bytes: at), in: dying)
      found.ends = whole.ends
      expect(found, is: whole, "died at \(at)")
      guard found == whole else { break }
    }
  }
}
