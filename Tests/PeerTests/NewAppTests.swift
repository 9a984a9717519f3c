import Expectations
import Foundation
import Glibc
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import peer

/// The package of a new app: its files, the names of its parts, and its place.
@Suite struct NewAppTests {
  private let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func names(_ folder: String, _ identifier: String? = nil) -> NewAppNames {
    NewAppNames(folder: Array(folder.utf8), identifier: identifier)
  }

  private func files(_ names: NewAppNames, kit: String = "/opt/peer") throws -> [NewAppFile] {
    let project = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").path
    return try NewAppFile.all(names, kit: kit, from: project)
  }

  private static let long = String(repeating: "x", count: 255)

  @Test(
    arguments: [
      ("Counter", "Counter", "counter"), ("My App", "MyApp", "my-app"), ("my_notes-2", "MyNotes2", "my-notes-2"),
      ("test", "Test", "test"), ("2048", "App2048", "2048"), ("Müsli", "Msli", "msli"), ("日本", "MyApp", "my-app"),
      ("---", "MyApp", "my-app"), ("", "MyApp", "my-app"), ("a\u{1B}[1m", "A1m", "a-1m"), ("٣", "MyApp", "my-app"),
      (long, "X" + String(repeating: "x", count: 31), String(repeating: "x", count: 32)),
    ])
  func `names are derived from the folder's name`(folder: String, base: String, name: String) {
    let names = names(folder)
    expect(names.base, is: base)
    expect(names.identifier, is: "org.example.\(name)")
    expect(NewAppNames.isFit(names.identifier))
  }

  @Test(arguments: [("Über", true), ("My App", false), ("日本", true), ("2048", false)])
  func `a name that loses letters is noted`(folder: String, isNoted: Bool) {
    let note = names(folder).note
    expect(note?.contains("'\(names(folder).base)'") ?? false, is: isNoted, "\(note ?? "")")
  }

  @Test func `a folder whose name is not text gets a name that is`() {
    let names = NewAppNames(folder: [0x61, 0xFF], identifier: nil)
    expect((names.base, names.title) == ("MyApp", "MyApp"))
  }

  @Test(arguments: ["Foundation", "Testing", "test", "class", "Swift", "AppMigration", "AppMigrationKit", "peer"])
  func `no module has the name of a keyword or of an existing module`(folder: String) {
    let names = names(folder)
    let modules = ["App", "Data", "Migration", "MigrationTests"].map { names.base + $0 }
    let others: Set = [
      "foundation", "testing", "test", "class", "swift", "appmigration", "appmigrationkit", "peer",
      "appmigrationkittests",
    ]
    expect(others.isDisjoint(with: modules.map { $0.lowercased() }))
    expect(Set(modules).count, is: 4)
  }

  @Test func `all placeholders in the files are filled in`() throws {
    let files = try files(names("Counter", "com.example.c"))
    expect(Set(files.map(\.path)).count, is: files.count)
    for file in files {
      for left in ["NewApp", "new-app", "New App"] { expect(!(file.path + file.text).contains(left), "\(file.path)") }
      expect(file.text.hasSuffix("\n") && !file.text.hasSuffix("\n\n"), "\(file.path)")
      expect(file.isExecutable, is: file.text.hasPrefix("#!"), "\(file.path)")
    }
    let readme = try #require(files.first { $0.path == "README.md" }).text
    expect(readme.split(separator: "\n", omittingEmptySubsequences: false).count <= 21)
    expect(readme.contains("peer app migrate com.example.c --to build/Counter.app"))
  }

  @Test(
    arguments: [
      ("/opt/a b", #""/opt/a b""#), (#"/q"\(x)"#, #""/q\"\\(x)""#), ("/a\nb\u{202E}", #""/a\u{a}b\u{202e}""#),
      ("/ü", #""/ü""#),
    ])
  func `the path in Package swift is exact`(path: String, literal: String) throws {
    expect(NewAppFile.literal(path), is: literal)
    let manifest = try files(names("a"), kit: path).first { $0.path == "Package.swift" }?.text
    expect(manifest?.contains("Context.environment[\"PEER_PACKAGE\"] ?? \(literal)\n"), is: true)
  }

  @Test(arguments: [
    ("a&\u{301}b", "a&amp;\u{301}b"), ("<\u{338}", "&lt;\u{338}"), ("<&>", "&lt;&amp;&gt;"), ("ü", "ü"),
  ])
  func `text in XML is exact`(text: String, escaped: String) {
    expect(Array(NewAppFile.xml(text).unicodeScalars), is: Array(escaped.unicodeScalars))
  }

  @Test(arguments: ["AAA", "APz", "Aq", "Zoo", "Test"])
  func `imports are sorted with any name of the app`(folder: String) throws {
    for file in try files(names(folder)) where file.path.hasSuffix(".swift") {
      let imports = file.text.split(separator: "\n").filter { $0.hasPrefix("import ") }
      expect(imports, is: imports.sorted(), "\(file.path)")
    }
  }

  @Test(arguments: ["Counter", "R&D <new>"])
  func `the bundle can be installed`(folder: String) throws {
    let names = names(folder)
    try write(files(names), to: "new")
    let bundle = scratch.path("new/Bundle")
    for program in ["\(names.base)App", "Extensions/\(names.base)Migration.appex/\(names.base)Migration"] {
      try Data("#!/bin/sh\n".utf8).write(to: URL(filePath: "\(bundle)/\(program)"))
      try #require(chmod("\(bundle)/\(program)", 0o755) == 0)
    }
    let home = try AppHome(home: scratch.at("home"))
    let app = try home.install(Array(bundle.utf8)).app
    expect((app.identifier, app.bundle.displayName) == (names.identifier, folder))
  }

  // The place of the package

  private func write(_ files: [NewAppFile], to name: String) throws {
    try NewAppFolder.open(scratch.at(name)).write(files)
  }

  private func failure(_ files: [NewAppFile], _ name: String) -> Failure? {
    #expect(throws: Failure.self) { try write(files, to: name) }
  }

  private let file = NewAppFile(path: "a/b/file", text: "text\n")

  @Test(arguments: ["new", "new//", "empty", "empty/"])
  func `an app can be created at a new name and in an empty folder`(
    name: String
  ) throws {
    try scratch.directory.makeDirectory("empty")
    let script = NewAppFile(path: "script", text: "#!\n", isExecutable: true)
    try write([file, script], to: name)
    let folder = name.hasPrefix("new") ? "new" : "empty"
    expect(scratch.names(folder).sorted(), is: ["a", "script"])
    expect(try String(contentsOfFile: scratch.path("\(folder)/a/b/file"), encoding: .utf8), is: "text\n")
    expect(access(scratch.path("\(folder)/script"), X_OK), is: 0)
    expect(scratch.names("").sorted(), is: (folder == "new" ? ["empty", "new"] : ["empty"]))
  }

  @Test(arguments: ["full", "file", "link"]) func `existing files stay`(name: String) throws {
    try scratch.directory.makeDirectory("full")
    _ = try scratch.directory.createFile("full-1")
    _ = try scratch.directory.openChildDirectory("full").createFile(".hidden")
    _ = try scratch.directory.createFile("file")
    try scratch.directory.makeSymbolicLink("link", target: "nowhere")
    expect(failure([file], name)?.kind, is: .refused)
    expect(scratch.names("full"), is: [".hidden"])
    expect(scratch.names("").sorted(), is: ["file", "full", "full-1", "link"])
  }

  @Test func `a folder without a parent folder cannot be created`() {
    expect(failure([file], "missing/new")?.kind, is: .usage)
  }

  @Test(arguments: ["new", "empty"]) func `a failure leaves nothing`(name: String) throws {
    try scratch.directory.makeDirectory("empty")
    expect(failure([file, file], name) != nil)
    expect(scratch.names(""), is: ["empty"])
    expect(scratch.names("empty").isEmpty)
  }

  // The sources of AppMigrationKit

  private func makePackage(_ path: String) throws {
    try scratch.directory.makeDirectories("\(path)/Sources/Apps/AppMigrationKit")
    _ = try scratch.directory.openDirectoryBeneath(path).createFile("Package.swift")
  }

  private func find(_ named: String?, program: String, shared: [String] = []) throws(Failure) -> String {
    try KitSources.find(
      named.map { scratch.at($0) }, program: scratch.at(program), shared: shared.map { scratch.at($0) })
  }

  @Test func `the sources are above the program, next to it, or at the named place`() throws {
    for path in ["clone/.build/release", "prefix/bin", "prefix/share/peer"] {
      try scratch.directory.makeDirectories(path)
    }
    try makePackage("clone")
    try makePackage("prefix/share/peer/package")
    expect(try find(nil, program: "clone/.build/release/peer"), is: scratch.path("clone"))
    expect(try find(nil, program: "prefix/bin/peer"), is: scratch.path("prefix/share/peer/package"))
    expect(try find("clone/", program: "prefix/bin/peer"), is: scratch.path("clone"))
    // The program was moved, and a package is where the system keeps shared files.
    try scratch.directory.makeDirectory("elsewhere")
    let moved = try find(nil, program: "elsewhere/peer", shared: ["missing", "prefix/share"])
    expect(moved, is: scratch.path("prefix/share/peer/package"))
  }

  @Test(
    arguments: [
      ("/usr/bin/peer", "/usr/share/peer/page", true),
      ("/home/a/.local/bin/peer", "/home/a/.local/share/peer/page", true),
      ("/home/a/peer-2.0/bin/peer", "/home/a/peer-2.0/share/peer/page", false),
      ("/home/a/bin/peer", "/home/a/share/peer/page", false), ("/home/ab/bin/peer", "/home/ab/share/peer/page", true),
      ("/home/a/src/.build/x86_64/debug/peer", "/home/a/src/Sources/Page", true), ("/home/a/tools/peer", nil, true),
      ("/peer", nil, true),
    ] as [(String, String?, Bool)])
  func `shipped files lie in the installation or the clone, and not where another device puts files`(
    program: String, path: String?, isUsed: Bool
  ) {
    let found = ShippedFolder(
      "page", source: "Sources/Page", of: Array(program.utf8), homes: [Array("/home/a".utf8), Array("/root".utf8)])
    expect(found?.path, is: path.map { Array($0.utf8) })
    expect((found?.distrust == nil), is: isUsed)
  }

  @Test(arguments: [("peer", false), ("Peer", false), ("peers", true), ("", true)])
  func `a folder is refused if SwiftPM confuses it with that of the sources`(folder: String, isFit: Bool) {
    let fits = (try? KitSources.check("/src/peer", for: Array(folder.utf8))) != nil
    expect(fits, is: isFit)
  }

  @Test func `if the sources are not found, a hint tells how to name them`() throws {
    try scratch.directory.makeDirectory("bin")
    _ = try scratch.directory.createFile("Package.swift")
    for (named, kind) in [(nil, .usage), ("bin", .refused), ("missing", .usage)] as [(String?, Failure.Kind)] {
      let failure = #expect(throws: Failure.self) { try find(named, program: "bin/peer") }
      expect(failure?.kind, is: kind)
      expect(failure?.hint?.contains("PREFIX/share/peer/package"), is: true)
    }
    let failure = #expect(throws: Failure.self) {
      try find(nil, program: "bin/peer", shared: ["missing", "my data"])
    }
    expect(failure?.message.hasSuffix(", nor in '\(scratch.path("missing"))', '\(scratch.path("my data"))'"), is: true)
  }
}
