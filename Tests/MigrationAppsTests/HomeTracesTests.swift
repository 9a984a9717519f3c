import Expectations
import MigrationWire
import Testing

@testable import MigrationApps

@Suite struct HomeTracesTests {
  @Test(arguments: [
    ("projects/x/.git", "gitdir: /home/anna/x/.git/worktrees/x\n", HomeTraces.Kind.worktree),
    ("projects/y/.git/worktrees/x/gitdir", "/home/anna/x/.git\n", .worktree),
    ("projects/x/.git/config", "gitdir: /home/anna", .file), ("v/bin/pip", "#!/home/anna/v/bin/python\n", .environment),
    ("v/bin/activate.fish", "set /home/anna/v", .environment), ("v/pyvenv.cfg", "home = /home/anna", .environment),
    ("v/bin/data", "/home/anna", .file), ("notes", "/home/anna", .file),
  ])
  func `a file that names the old home is of a kind`(path: String, content: String, kind: HomeTraces.Kind) throws {
    expect(HomeTraces.kind(of: try ArchivePath(Array(path.utf8)), Array(content.utf8)), is: kind)
  }

  @Test func `each kind is told with the first names and how many there are`() {
    var traces = HomeTraces()
    for number in 0..<1200 { traces.note(.file, Array("f \(number)".utf8)) }
    traces.note(.link, Array("l".utf8))
    expect(
      traces.sentences(Array("/home/anna".utf8)),
      is: [
        "1 link leads into '/home/anna', and nowhere here: l",
        "1,200 files name '/home/anna', where these paths may lead nowhere: 'f 0', 'f 1', 'f 2' and 1,197 more",
      ])
  }
}
