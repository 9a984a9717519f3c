import Expectations
import Foundation
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import AppMigrationKit
@testable import MigrationHost

@Suite struct ExtensionProcessTests {
  private let scratch: Scratch
  private let guest: Guest

  init() throws {
    scratch = try Scratch.withContainer()
    scratch.write("container/Documents/file")
    guest = try Guest(scratch)
    guard case .ready(let abilities) = try guest.message(), abilities == [.exports, .imports] else {
      throw Guest.Unexpected(description: "no greeting")
    }
  }

  private func export(_ platform: String, options: [AppRequest.Option] = []) throws {
    try guest.say(.export(platform: platform, options: options))
  }

  @Test func `an extension describes its export, from a main actor on the main thread`() throws {
    try guest.say(.describe)
    let description = ExportDescription(
      estimate: 4711, version: "2.1", isCompressible: false, options: ["quality", "since"])
    expect(try guest.message(), is: .described(description))
    expect(try guest.end(), is: 0)
  }

  @Test func `the host gets files as descriptors, links as targets, and all names unchanged`() throws {
    let names = ["file", ".hidden", "with space", "a%20b", "e\u{301}", "new\nline"]
    for name in names { scratch.write("container/Documents/\(name)", "in \(name)") }
    scratch.makeLink("container/Documents/link", to: "nowhere/../at all")
    scratch.write("container/Documents/directory/inner")
    try export("listing")
    var seen: [String: String] = [:]
    var next = try guest.hear()
    while case .append(let item) = next.message {
      let name = String(decoding: item.path, as: UTF8.self)
      if case .symbolicLink(let target, _) = item.content {
        seen[name] = "-> " + String(decoding: target, as: UTF8.self)
      } else {
        guard let descriptor = next.descriptor.take() else { throw Guest.Unexpected(description: "no descriptor") }
        seen[name] =
          try descriptor.status().kind == .directory
          ? "/" : String(decoding: try descriptor.readAll(limit: 100), as: UTF8.self)
      }
      try guest.say(.appended(nil))
      next = try guest.hear()
    }
    expect(next.message, is: .ended(nil))
    var expected = Dictionary(uniqueKeysWithValues: names.map { ($0, "in \($0)") })
    expected["link"] = "-> nowhere/../at all"
    expected["directory"] = "/"
    expect(seen.mapValues { Array($0.utf8) }, is: expected.mapValues { Array($0.utf8) })
    expect(Set(seen.keys.map { Array($0.utf8) }), is: Set(expected.keys.map { Array($0.utf8) }))
    expect(try guest.end(), is: 0)
  }

  @Test func `unknown options are dropped, and errors arrive with all their texts`() throws {
    try export("options", options: ["since", "quality", "unknown"].map { .init(name: $0, value: Array("1".utf8)) })
    let error = try guest.appends().1
    expect(
      error,
      is: ReportedError(
        domain: "org.example.fixture", code: 42, text: "quality=1,since=1", userInfo: ["kind": "fixture"]))
  }

  @Test func `a refused append throws Foundation's error, and the next one works`() throws {
    try export("refused")
    let (paths, error) = try guest.appends { item in
      item.path == Array("file".utf8) ? ReportedError(.fileWriteFileExists, "it is there") : nil
    }
    expect(paths, is: ["file", "another"])
    expect(error == nil)
  }

  @Test func `a cancelled export ends with the archiver's cancellation`() throws {
    try export("until cancelled")
    for _ in 0..<3 {
      guard case .append = try guest.message() else { throw Guest.Unexpected(description: "no append") }
      try guest.say(.appended(nil))
    }
    guard case .append = try guest.message() else { throw Guest.Unexpected(description: "no append") }
    try guest.say(.cancel)
    try guest.say(.appended(ReportedError(domain: "Swift.CancellationError", code: 1, text: "cancelled")))
    expect(try guest.appends().1?.domain, is: "Swift.CancellationError")
    expect(try guest.end(), is: 0)
  }

  @Test func `cancelling cancels the task, and no append reaches the host after it`() throws {
    try export("until the task is cancelled")
    guard case .append = try guest.message() else { throw Guest.Unexpected(description: "no append") }
    try guest.say(.appended(nil))
    try guest.say(.cancel)
    guard case .ended(let error?) = try guest.message() else { throw Guest.Unexpected(description: "no end") }
    expect(error.domain, is: "Swift.CancellationError")

    try export("until cancelled")
    let (paths, second) = try guest.appends()
    expect(paths.isEmpty)
    expect(second?.domain, is: "Swift.CancellationError")
  }

  @Test func `the end of the channel ends the process in the middle of any code`() throws {
    try export("busy")
    guard case .append = try guest.message() else { throw Guest.Unexpected(description: "no append") }
    try guest.say(.appended(nil))
    expect(try guest.end(), is: 0)
  }

  @Test func `the host answers many appends one by one, in order`() throws {
    try export("many")
    let (paths, error) = try guest.appends { item in
      item.path == Array("files/1234".utf8) ? ReportedError(.fileWriteFileExists, "it is there") : nil
    }
    expect(error, is: ReportedError(.fileWriteFileExists, "it is there"))
    expect(paths, is: (0...1234).map { "files/\($0)" })
  }

  @Test func `the extension obeys a command between appends`() throws {
    try export("one after the other")
    guard case .append = try guest.message() else { throw Guest.Unexpected(description: "no append") }
    try guest.say(.appended(nil))
    guard case .append = try guest.message() else { throw Guest.Unexpected(description: "no append") }
    try guest.say(.describe)
    guard case .described = try guest.message() else { throw Guest.Unexpected(description: "no description") }
    try guest.say(.appended(nil))
    expect(try guest.appends().1 == nil)
  }

  @Test func `listed groups have a directory`() throws {
    scratch.write("group/shared")
    try export("group")
    let (paths, error) = try guest.appends()
    expect(paths, is: ["shared"])
    expect(error == nil)
  }

  @Test func `the status of the last import comes from its file, until it is cleared`() throws {
    try export("status")
    expect(try guest.appends().1?.text, is: "none")
    let failure = ReportedError(domain: "org.example", code: 9, text: "it failed", userInfo: ["key": "value"])
    try ImportRecord(failure: failure, transfer: nil, date: 0).write(to: scratch.path("status"))
    try export("status")
    expect(try guest.appends().1, is: failure)
    try ImportRecord(failure: nil, transfer: nil, date: 0).write(to: scratch.path("status"))
    try export("status")
    expect(try guest.appends().1?.text, is: "success")
    try export("cleared status")
    expect(try guest.appends().1?.text, is: "true")
    expect(ImportRecord.read(from: scratch.path("status")) == nil)
    try export("cleared status")
    expect(try guest.appends().1?.text, is: "true")
  }

  @Test func `an importer moves the received items into its container`() throws {
    scratch.write("arrived/a%20b", "one")
    scratch.write("arrived/e\u{301}", "two")
    let app = AppIdentity(bundleIdentifier: "org.example.notes", store: "", platform: "linux", version: "moves")
    try guest.say(.importItems(directory: Array(scratch.path("arrived").utf8), from: app))
    expect(try guest.message(), is: .ended(nil))
    expect(scratch.text("container/Documents/a%20b"), is: "one")
    expect(scratch.text("container/Documents/e\u{301}"), is: "two")
  }

  @Test func `the extension reports the progress of an import when it has changed`() throws {
    let app = AppIdentity(bundleIdentifier: "org.example.notes", store: "", platform: "linux", version: "half")
    try guest.say(.importItems(directory: Array(scratch.path("arrived").utf8), from: app))
    expect(try guest.message(), is: .progress(500_000))
    try guest.say(.cancel)
    guard case .ended(let error?) = try guest.message() else { throw Guest.Unexpected(description: "no end") }
    expect(error.domain, is: "Swift.CancellationError")
  }

  @Test func `a host that breaks the rules ends the process`() throws {
    try guest.say(.appended(nil))
    expect(try guest.exitCode(), is: 1)
  }
}

@Suite struct StrayExtensionTests {
  /// The file with a process's output, and the descriptor that the process writes to.
  private func output() throws -> (scratch: Scratch, descriptor: SharedDescriptor) {
    let scratch = try Scratch.withContainer()
    return (scratch, SharedDescriptor(try scratch.directory.createFile("output")))
  }

  @Test func `the author's output is written before the end is reported`() throws {
    let (scratch, descriptor) = try output()
    let guest = try Guest(scratch, output: descriptor.raw)
    _ = try guest.message()
    try guest.say(.export(platform: "output", options: []))
    expect(try guest.appends().1 != nil)
    expect(scratch.text("output"), is: "printed by the author\n")
    expect(try guest.end(), is: 0)
    expect(scratch.text("output"), is: "printed by the author\n")
  }

  @Test func `an extension that peer did not start says so and exits with 2`() throws {
    let (scratch, descriptor) = try output()
    let process = try SpawnedProcess(fixture: [], output: descriptor.raw)
    expect(try process.exitCode(), is: 2)
    let output = scratch.text("output")
    expect(output.hasSuffix("migration extension; peer starts it, and it does nothing by itself\n"))
    expect(output.count { $0 == "\n" }, is: 1)
  }

  @Test func `an extension with an invalid channel exits with 2`() throws {
    let environment = AppEnvironment(
      bundleIdentifier: "a", container: "/nowhere", groups: [:], status: "/nowhere", channel: 77)
    let (_, descriptor) = try output()
    let process = try SpawnedProcess(
      fixture: ["\(AppEnvironment.variable)=\(environment.encoded)"], output: descriptor.raw)
    expect(try process.exitCode(), is: 2)
  }
}
