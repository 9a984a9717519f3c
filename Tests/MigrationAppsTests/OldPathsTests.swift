import Expectations
import MigrationWire
import Testing

@testable import MigrationApps

@Suite struct OldPathsTests {
  private func paths(
    _ home: String, to new: String, told: [String: String] = [:], here: [String: String] = [:]
  ) -> OldPaths? {
    let told = (told.merging(["home": home]) { $1 }).map { HomePath(key: Array($0.utf8), path: Array($1.utf8)) }
    return OldPaths(
      told.sorted { $0.key.lexicographicallyPrecedes($1.key) }, home: Array(new.utf8),
      folders: here.mapValues { Array($0.utf8) })
  }

  private func replaced(_ text: String, by paths: OldPaths?) -> String? {
    paths?.replaced(in: Array(text.utf8)).map { String(decoding: $0.content, as: UTF8.self) }
  }

  /// A text with paths of /home/anna, and the text for /home/bert; nil where nothing may change.
  @Test(arguments: [
    ("file:///home/anna", "file:///home/bert"), ("file:///home/anna/a%20b Work\n", "file:///home/bert/a%20b Work\n"),
    ("dir=/home/anna/x;/home/anna", "dir=/home/bert/x;/home/bert"), ("\"/home/anna\"", "\"/home/bert\""),
    ("<a href=\"file:///home/anna/x\"/>", "<a href=\"file:///home/bert/x\"/>"),
    ("/home/annabel", nil), ("/home/anna.old/x", nil), ("/backup/home/anna/x", nil), ("file:///mnt/home/anna", nil),
    ("/home/anna of old", nil), ("~/home/anna", nil), ("xfile:///home/anna", nil), ("nothing", nil), ("", nil),
    ("file:///home/annabel and file:///home/anna/", "file:///home/annabel and file:///home/bert/"),
  ])
  func `only a whole path is replaced`(_ old: String, _ new: String?) {
    expect(replaced(old, by: paths("/home/anna", to: "/home/bert")), is: new)
  }

  @Test func `a user's folder goes before the home, also where the home is the same`() {
    let told = ["documents": "/home/anna/Dokumente", "music": "/home/anna/Dokumente/Musik"]
    let here = ["documents": "Documents", "music": "Music", "videos": "Videos"]
    let text = "/home/anna/Dokumente/Musik/a\n/home/anna/Dokumente/b\n/home/anna/Dokumente2\n"
    expect(
      replaced(text, by: paths("/home/anna", to: "/home/bert", told: told, here: here)),
      is: "/home/bert/Music/a\n/home/bert/Documents/b\n/home/bert/Dokumente2\n")
    expect(
      replaced(text, by: paths("/home/anna", to: "/home/anna", told: told, here: here)),
      is: "/home/anna/Music/a\n/home/anna/Documents/b\n/home/anna/Dokumente2\n")
  }

  @Test func `names with letters beyond ASCII stand in addresses in their encoded form`() {
    let paths = self.paths("/home/ännie b", to: "/home/bert ö")
    expect(replaced("file:///home/%C3%A4nnie%20b/x", by: paths) == "file:///home/bert%20%C3%B6/x")
    expect(replaced("/home/ännie b/x", by: paths), is: "/home/bert ö/x")
  }

  @Test func `nothing is replaced for a home of one name, the same home, or paths that would change again`() {
    expect(paths("/root", to: "/home/bert") == nil)
    expect(paths("/home/anna", to: "/home/anna") == nil)
    expect(paths("/home/anna", to: "/home/anna/new") == nil)
    expect(paths("home/anna", to: "/home/bert") == nil)
    expect(paths("/home/anna/", to: "/home/bert") == nil)
    expect(paths("/home/../anna", to: "/home/bert") == nil)
    expect(paths("/home/an\"na", to: "/home/bert") == nil)
    expect(paths("/home/anna", to: "/home/be\nrt") == nil)
    let swap = ["music": "/home/anna/A", "videos": "/home/anna/B"]
    expect(paths("/home/anna", to: "/home/anna", told: swap, here: ["music": "B", "videos": "A"]) == nil)
    expect(OldPaths([], home: Array("/home/bert".utf8), folders: [:]) == nil)
  }

  @Test func `a sender's folders outside of its home count for nothing`() {
    let paths = self.paths("/home/anna", to: "/home/bert", told: ["music": "/usr/bin"], here: ["music": "Music"])
    expect(replaced("/usr/bin/x /home/anna/y", by: paths), is: "/usr/bin/x /home/bert/y")
  }

  @Test func `a second pass changes nothing`() throws {
    let paths = try #require(self.paths("/home/anna", to: "/home/bert"))
    let once = try #require(paths.replaced(in: Array("/home/anna/x file:///home/anna".utf8)))
    expect(once.count, is: 2)
    expect(paths.replaced(in: once.content) == nil)
  }

  @Test func `a link leads into the old home only where its target has another path here`() {
    let told = ["documents": "/home/anna/Dokumente"]
    let paths = self.paths("/home/anna", to: "/home/anna", told: told, here: ["documents": "Documents"])
    let targets = ["/home/anna/Dokumente/x", "/home/anna/Projects/x", "/home/annabel", "/srv/home/anna/Dokumente"]
    expect(targets.map { paths?.leads(Array($0.utf8)) }, is: [true, false, false, false])
    let moved = self.paths("/home/anna", to: "/home/bert")
    expect(
      ["/home/anna", "/home/anna/x", "/home/annabel"].map { moved?.leads(Array($0.utf8)) }, is: [true, true, false])
  }
}
