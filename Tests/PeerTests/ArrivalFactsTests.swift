import Expectations
import Glibc
import MigrationArchive
import TestSupport
import Testing

@testable import peer

/// The places of this device where programs look for what they run.
@Suite struct ArrivalFactsTests {
  private static let links = [
    "/bin": "usr/bin", "/home": "/data/home", "/data/home/ann/tools": "/opt/../opt/tools/", "/loop": "loop",
  ]

  @Test(arguments: [
    ("/usr/bin", "/usr/bin", []), ("/bin/", "/usr/bin", ["/bin"]), ("/home/ann/x", "/data/home/ann/x", ["/home"]),
    ("/home/ann/tools/bin", "/opt/tools/bin", ["/home", "/data/home/ann/tools"]), ("/", "/", []),
    ("/home/../bin/./x", "/data/bin/x", ["/home"]), ("/../..", "/", []),
  ])
  func `a path leads through links, each of which has its own place`(given: String, path: String, links: [String]) {
    let resolved = ArrivalFacts.ResolvedPath(Array(given.utf8)) { folder, name in
      let folder = String(decoding: folder, as: UTF8.self)
      let place = (folder == "/" ? "" : folder) + "/" + String(decoding: name, as: UTF8.self)
      return Self.links[place].map { Array($0.utf8) }
    }
    expect(String(decoding: resolved.path, as: UTF8.self), is: path)
    expect(resolved.links.map { String(decoding: $0, as: UTF8.self) }, is: links)
  }

  @Test func `links in a circle end`() {
    expect(ArrivalFacts.ResolvedPath(Array("/loop".utf8)) { _, _ in Array("loop".utf8) }.links.count, is: 40)
  }

  private func facts(_ scratch: Scratch, at destination: String, _ variables: [String: String]) -> ArrivalRule.Facts {
    ArrivalFacts(
      destination: scratch.at(destination), own: [], secrets: [], asksShell: false,
      variable: { name in variables[name].map { Array($0.utf8) } }, current: scratch.at("here")
    ).facts
  }

  @Test func `a home counts before it exists, and a folder of PATH wherever it is named from`() throws {
    let scratch = try Scratch()
    scratch.makeDirectory("real/bin")
    try #require(symlink("real", scratch.path("link")) == 0)
    let path = ["", ".", "tools", scratch.path("link/bin"), "/usr/bin"].joined(separator: ":")
    let facts = facts(
      scratch, at: "in",
      [
        "HOME": scratch.path("link/new/home"), "PATH": path, "GNUPGHOME": scratch.path("keys"),
        "XDG_CONFIG_DIRS": "relative:\(scratch.path("etc"))",
      ])
    expect(facts.homes.contains(scratch.at("real/new/home")))
    for place in ["here", "here/tools", "real/bin", "link", "etc"] {
      expect(facts.running.contains(scratch.at(place)), "\(place)")
    }
    expect(!facts.running.contains { $0.isEmpty || $0.first != UInt8(ascii: "/") })
    expect(facts.secret, is: [scratch.at("keys")])
  }

  @Test(.enabled(if: geteuid() == 0))
  func `as root, the owners of the folders above the destination have homes`() throws {
    let scratch = try Scratch()
    // Every system has these users, and the second is in no list that is read here.
    let owner = try #require(getpwnam("daemon")).pointee
    scratch.makeDirectory("shared/in")
    try #require(chown(scratch.path("shared"), owner.pw_uid, owner.pw_gid) == 0)
    let homes = facts(scratch, at: "shared/in", [:]).homes
    expect(homes.contains(Array(String(cString: owner.pw_dir).utf8)))
  }

  @Test func `a login shell reads start files in a home of its own user alone`() throws {
    let scratch = try Scratch()
    func names(_ home: String) -> Set<String> {
      Set(
        ArrivalFacts.LoginShell.environment { ["PATH": "/bin", "HOME": home, "ZDOTDIR": home, "OTHER": "x"][$0] }.keys)
    }
    scratch.makeDirectory("home")
    expect(names(scratch.path("home")), is: ["PATH", "HOME", "ZDOTDIR"])
    if geteuid() == 0 { try #require(chown(scratch.path("home"), 65534, 65534) == 0) }
    expect(names(geteuid() == 0 ? scratch.path("home") : "/"), is: ["PATH"])
    expect(names(scratch.path("none")), is: ["PATH"])
  }

  @Test func `a login shell tells its PATH behind a greeting, and one that is silent is not waited for`() throws {
    let scratch = try Scratch()
    func path(_ name: String, _ script: String, _ patience: Duration = .seconds(20)) -> String? {
      scratch.write(name, script, mode: 0o755)
      return ArrivalFacts.LoginShell(program: scratch.path(name), patience: patience).path().map {
        String(decoding: $0, as: UTF8.self)
      }
    }
    expect(path("greeting", "#!/bin/sh\necho hello; PATH=/a:/b; export PATH; eval \"$3\""), is: "/a:/b")
    expect(path("failing", "#!/bin/sh\nexit 1") == nil)
    expect(path("silent", "#!/bin/sh\nkill -STOP $$", .milliseconds(200)) == nil)
    expect(ArrivalFacts.LoginShell(program: "/no/such/shell", patience: .seconds(1)).path() == nil)
  }
}
