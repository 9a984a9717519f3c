import Expectations
import MigrationArchive
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationApps

private func read(_ text: String) throws(DescriptionError) -> AppDescription {
  try AppDescription(Array(text.utf8), file: Array("/etc/peer/apps/x.app".utf8))
}

@Suite struct DescriptionTests {
  @Test func `a description has identity, places by packaging, patterns and flags`() throws {
    let app = try read(
      """
      # a comment
      [Application]
      Id=x
      Name=The X
      Packages=x11;x-utils;
      Programs=x
      Secret=no
      Identity=yes
      Needs=keyring
      [Data]
      profile=home/.x ; config/x/a;flatpak/org.example.x/config/x;snap/x/common/.x;
      state-2=state/x
      [Exclude]
      Patterns=*.lock;/cache/
      [Running]
      Processes=x;x-bin
      Locks=*/lock;.parentlock
      [Home]
      Files=profile/bookmarks;state-2
      [Version]
      File=profile/*/compatibility.ini
      Key=LastVersion
      """)
    expect(app.name, is: "The X")
    expect(app.packages, is: ["x11", "x-utils"])
    expect(!app.hasSecrets)
    expect(app.isIdentity)
    expect(app.needs, is: ["keyring"])
    expect(app.processes, is: ["x", "x-bin"])
    expect(app.locks.map(\.components.count), is: [2, 1])
    expect(app.homeFiles.map { String(decoding: $0.bytes, as: UTF8.self) }, is: ["profile/bookmarks", "state-2"])
    expect(app.written?.key, is: "LastVersion")
    // A lock names a process of this computer: it stays behind.
    expect(
      app.exclusions.map { String(decoding: $0, as: UTF8.self) }, is: ["*.lock", "/cache/", "/*/lock", "/.parentlock"])
    expect(app.packagings, is: [.native, .flatpak("org.example.x"), .snap("x")])
    expect(
      app.roots.map { $0.places.map { String(decoding: $0.path, as: UTF8.self) } },
      is: [
        [".x", ".config/x/a", ".var/app/org.example.x/config/x", "snap/x/common/.x"], [".local/state/x"],
      ])
  }

  @Test func `lines may end as on Windows, and a value may begin with an accent`() throws {
    let lines = ["# a comment", "[Application]", "Id=x", "Name=\u{301}X", "", "[Data]", "a = home/.x ; config/x ;", ""]
    for end in ["\n", "\r\n"] {
      let app = try read(lines.joined(separator: end))
      expect(Array(app.name.utf8), is: Array("\u{301}X".utf8))
      expect(app.roots.map { $0.places.map { String(decoding: $0.path, as: UTF8.self) } }, is: [[".x", ".config/x"]])
    }
  }

  /// The lines with the data, of which the last one is wrong, and a part of the reason.
  @Test(arguments: [
    ("a=home/../eva", "'..'"), ("a=/etc/shadow", "absolute path"), ("a=~/x", "absolute path"), ("a=home/./x", "'.'"),
    ("a=home//x", "empty"), ("a=home", "takes everything"), ("a=config", "takes everything"),
    ("a=home/.config", "takes everything"), ("a=home/.local/share", "takes everything"),
    ("a=home/*", "pattern"), ("a=config/x?", "pattern"), ("a=home/.local/share/peer/keys", "takes everything"),
    ("a=flatpak/org.example.x", "Flatpak"), ("a=flatpak/x/y", "Flatpak"), ("a=snap/x/current/y", "common"),
    ("a=etc/x", "begins with none"), ("a=", "no place"), ("A=home/.x", "small letters"), ("ä=home/.x", "small letters"),
    ("container=home/.x", "belongs to Flatpaks"), ("a=home/.x\na=home/.y", "twice"),
    ("a=config/x\nb=home/.config/x/y", "another key's place"),
    ("a=home/.x\n[Exclude]\nPatterns=ok;**/*", "takes everything"), ("a=home/.x\n[Exclude]\nPatterns=*/", "everything"),
    ("a=home/.x\n[Exclude]\nOther=x", "unknown"), ("a=home/.x\n[Settings]", "without [Data]"),
    ("a=home/.x\n[Data]", "twice"), ("a=home/.x\nno equals sign", "'='"), ("a=home/.x\n[Exclude", "']'"),
    ("a=home/.x\n[Running]\nProcesses=a b", "no name"), ("a=home/.x\n[Running]\nLocks=../lock", "lock file"),
    ("a=home/.x\n[Running]\nLocks=/lock", "lock file"), ("a=home/.x\n[Running]\nLocks=a/*", "lock file"),
    ("a=home/.x\n[Running]\nLocks=a*/lock", "lock file"), ("a=home/.x\n[Home]\nFiles=b/c", "key of [Data]"),
    ("a=home/.x\n[Home]\nFiles=a/../b", "no path"), ("a=home/.x\n[Home]\nFiles=a/*", "no path"),
    ("a=home/.x\n[Version]\nFile=b/x", "key of [Data]"), ("a=home/.x\n[Version]\nFile=a/x*", "no path"),
  ])
  func `a mistake is refused with its line and its reason`(_ data: String, _ reason: String) {
    let error = #expect(throws: DescriptionError.self) {
      try read("[Application]\nId=x\nName=X\n[Data]\n\(data)\n")
    }
    expect(error?.line, is: 4 + data.split(separator: "\n").count)
    expect(error?.reason.contains(reason), is: true)
    expect(error?.description.hasPrefix("the description '/etc/peer/apps/x.app' is not used: line "), is: true)
  }

  @Test(arguments: [
    "", "[Data]\na=home/.x", "[Application]\nId=x\n[Data]\na=home/.x", "[Application]\nId=x\nName=X",
    "[Application]\nId=y\nName=X\n[Data]\na=home/.x", "[Application]\nId=../x\nName=X\n[Data]\na=home/.x", "Id=x",
    "[Application]\nId=x\nName=X\nSecret=true\n[Data]\na=home/.x",
  ])
  func `a description without identity or data is refused`(_ text: String) {
    #expect(throws: DescriptionError.self) { try read(text) }
  }

  @Test func `settings have a description of their own`() throws {
    let app = try read("[Application]\nId=x\nName=X\n[Settings]\nKeys=/org/example/x/;/org/example/y;\n")
    expect(app.settings.map(\.path), is: ["/org/example/x/", "/org/example/y"])
    expect(app.roots.isEmpty)
    #expect(throws: DescriptionError.self) { try read("[Application]\nId=x\nName=X\n[Settings]\nKeys=\n") }
    let error = #expect(throws: DescriptionError.self) {
      try read("[Application]\nId=x\nName=X\n[Settings]\nKeys=/org/x/\n")
    }
    expect(error?.line == 5 && error?.reason.contains("no key of dconf") == true)
  }

  @Test func `only descriptions of apps with a Flatpak's form count as Flatpaks`() {
    expect(Flatpaks.isIdentifier("org.example.App_2"))
    for text in ["org.example", "org..app", "../x.y", "org.example.a/b", "org.example.a;b", ".a.b.c", "a.b.3d", ""] {
      expect(!Flatpaks.isIdentifier(text))
    }
  }
}
