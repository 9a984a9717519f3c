import Expectations
import MigrationWire
import TestSupport
import Testing

@testable import MigrationApps

@Suite struct VersionTests {
  @Test(arguments: [
    ("115.9", "128.5.0esr"), ("128.5", "128.5.1"), ("9", "10"), ("1.2.3", "1.10"), ("2", "2.0.0.1"),
    ("128.5.0_20241121-x/y", "128.6"),
  ])
  func `versions are compared by their numbers`(_ older: String, _ newer: String) throws {
    let (one, other) = (try #require(Version(older)), try #require(Version(newer)))
    expect(one < other)
    expect(!(other < one))
  }

  @Test func `a text without a number at its beginning is no version`() {
    for text in ["", "x1", ".5", "-1", "99999999999"] { expect(Version(text) == nil) }
    expect(Version("128.5.0esr-1")?.description, is: "128.5.0")
    expect(Version("1.x")?.description, is: "1")
  }

  @Test func `the data says which version has written it`() throws {
    let file = try #require(PathPattern("profile/*/compatibility.ini"))
    let path = try ArchivePath(Array("profile/a.default/compatibility.ini".utf8))
    let content = Array("[Compatibility]\nLastVersion=128.5.0_2024/x\n".utf8)
    let written = WrittenVersion(file: file, key: "LastVersion")
    expect(written.version(in: content, of: path)?.description, is: "128.5.0")
    expect(written.version(in: Array("LastVersionX=1".utf8), of: path) == nil)
    expect(written.version(in: content, of: try ArchivePath(Array("profile/compatibility.ini".utf8))) == nil)
    expect(
      WrittenVersion(file: file, key: nil).version(in: Array("120.0.1\n".utf8), of: path)?.description, is: "120.0.1")
  }

  @Test func `the version of an installed package is without its epoch`() throws {
    let scratch = try Scratch()
    scratch.write(
      "status",
      "Package: gone\nStatus: deinstall ok config-files\nVersion: 3\n\nPackage: browser-esr\nStatus: install ok installed\n"
        + "Description: x\n Package: other\nVersion: 1:115.9.0esr-1~deb12u1\n\n")
    let packages = InstalledPackages(scratch.at("status"))
    expect(packages.version(of: ["gone", "browser-esr"])?.description, is: "115.9.0")
    for list in [["gone"], ["other"], ["browser"], []] { expect(packages.version(of: list) == nil) }
    expect(InstalledPackages().version(of: ["browser-esr"]) == nil)
  }

  @Test func `a user has installed no library, what no other package needs, and what not every system has`() throws {
    let scratch = try Scratch()
    let fields = [
      "vim": "", "gone": "Status: deinstall ok config-files\n", "libfoo": "", "dpkg": "Essential: yes\n",
      "nano": "Priority: important\n", "g++": "Priority: optional\nDescription: a\n Priority: required\n",
      "libbar2": "Section: libs\n", "gcc-base": "", "logs": "", "mail": "",
      "e2fs": "Essential: yes\nPre-Depends: libbar2\nDepends: gcc-base (= 12), logs:any, mail | post\n",
    ]
    scratch.write(
      "status",
      fields.sorted { $0.key > $1.key }.map { name, more in
        "Package: \(name)\n" + (more.contains("Status") ? "" : "Status: install ok installed\n") + "\(more)\n"
      }.joined())
    scratch.write("states", "Package: libfoo\nAuto-Installed: 1\n\nPackage: vim\nAuto-Installed: 0\n\n")
    let packages = InstalledPackages(scratch.at("status"), automatic: scratch.at("states"))
    expect(packages.byHand, is: ["g++", "mail", "vim"])
    expect(
      packages.names.subtracting(["e2fs", "gcc-base", "libbar2", "logs", "mail"]),
      is: [
        "dpkg", "g++", "libfoo", "nano", "vim",
      ])
    // Without notes of what others needed, it is not known what a user has chosen.
    expect(InstalledPackages(scratch.at("status")).byHand, is: [])
  }
}
