import Expectations
import Foundation
import Glibc
import MigrationArchive
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationHost

/// The findings for an author about a bundle, and about the real process of its extension.
@Suite struct CheckingTests {
  private let news = News()

  private func check(
    _ device: AppDevice, container: String? = nil, home: String? = nil, isConfined: Bool = true
  ) throws -> ExtensionCheck {
    try ExtensionCheck(
      device.app.bundle, home: Array((home ?? "\(device.scratch.path)/home").utf8),
      container: container.map { Array($0.utf8) }, isConfined: isConfined
    ) { [news] in news.note($0) }
  }

  @Test func `all faults of a bundle are found at once`() throws {
    let scratch = try Scratch()
    var sample = SampleBundle()
    sample.info["CFBundleIdentifier"] = "a..b"
    sample.info["CFBundleShortVersionString"] = nil
    sample.info["PeerAliases"] = ["x", ["BundleIdentifier": "org.other"]]
    sample.entitlements = ["com.apple.security.application-groups": ["good", ".", 7] as [Any]]
    sample.extensionInfo["EXAppExtensionAttributes"] = nil
    sample.spoil = {
      mkfifo("\($0)/pipe", 0o644)
      symlink("/etc", "\($0)/link")
      chmod("\($0)/Notes", 0o644)
    }
    let (bundle, faults) = try AppBundle.examine(try sample.write(in: scratch))
    expect(bundle == nil)
    let found = faults.map { "\(String(decoding: $0.file, as: UTF8.self)) \($0.key ?? "-")" }
    let groups = "com.apple.security.application-groups"
    expect(
      found,
      is: [
        "link -", "pipe -", "Info.plist CFBundleIdentifier", "Info.plist CFBundleShortVersionString", "Notes -",
        "Info.plist PeerAliases[0]", "Info.plist PeerAliases[1].Platform", "Entitlements.plist \(groups)",
        "Entitlements.plist \(groups)", "Extensions/Migration.appex/Info.plist EXAppExtensionAttributes",
      ], "\(found)")
    expect(faults.allSatisfy { !$0.reason.isEmpty && $0.hint.hasSuffix(".") })
  }

  @Test func `a named pipe in the place of a file is one fault`() throws {
    for place in ["Info.plist", "Extensions/Migration.appex/Info.plist"] {
      let scratch = try Scratch()
      var sample = SampleBundle()
      sample.spoil = {
        unlink("\($0)/\(place)")
        mkfifo("\($0)/\(place)", 0o644)
      }
      let faults = try AppBundle.examine(try sample.write(in: scratch)).faults
      expect(faults.map(\.file) == [Array(place.utf8)] && faults.first?.reason == "it is a named pipe", "\(faults)")
    }
  }

  @Test func `a missing home is not created, and an unusable one is an error`() throws {
    let device = try AppDevice(["kept": "text"])
    let missing = "\(device.scratch.path)/none"
    expect(try check(device, home: missing).data, is: .empty)
    expect(!exists(missing))
    try write("text", to: "\(device.scratch.path)/file")
    for home in ["file", "file/below"] {
      let error = try #require(thrown { _ = try check(device, home: "\(device.scratch.path)/\(home)") } as? Failure)
      expect(error.code, is: .unfitApp, "\(error)")
    }
  }

  @Test func `the extension of another edition exports the installed app's data`() throws {
    // The installed extension cannot export; the data of the other one's new group is empty.
    let device = try AppDevice(["kept": "text"], program: "OnlyImporting")
    let other = try AppDevice(program: "OnlyExporting")
    let home = try AppHome(home: Array("\(device.scratch.path)/home".utf8))
    let new = try AppDevice(program: "OnlyImporting")
    do {
      let source = try AppSource(app: AppDevice.identifier, edition: other.app.bundle, home: home) { [news] in
        news.note($0)
      }
      #expect(throws: Failure.self, "it is locked") { try device.app.lock(.running) }
      try Migration(from: source).arrive(at: try new.importer())
    }
    _ = try device.app.lockOnceFree(.running)
    expect(content("\(new.app.containerPath)/Documents/arrived"), is: "yes")
    let none = try AppHome(home: Array("\(device.scratch.path)/empty".utf8))
    let error = thrown { _ = try AppSource(app: "", edition: other.app.bundle, home: none) { _ in } } as? Failure
    expect(error?.code, is: .notInstalled)
    let unfit =
      thrown {
        _ = try AppSource(app: AppDevice.identifier, edition: device.app.bundle, home: home) { _ in }
      } as? Failure
    expect(unfit?.hint?.contains("'peer app check"), is: true, "\(String(describing: unfit))")
  }

  @Test func `the contents of an archive are counted, and an installed app's data is only read`() throws {
    let device = try AppDevice(["kept": "text", "estimate": "7000000"])
    try write("shared", to: "\(device.groupPath)/shared")
    let before = tree("\(device.scratch.path)/home/containers")
    var check: ExtensionCheck? = try check(device)
    expect(check?.data, is: .installed)
    #expect(throws: Failure.self, "it is locked") { try device.app.lock(.running) }
    expect(try check?.abilities(until: StopSignal()), is: [.exports, .imports])
    let export = try #require(try check?.export(until: StopSignal()))
    expect(export.total, is: Tally(items: 5, bytes: 17))
    expect(export.roots.all.map { String(decoding: $0.name, as: UTF8.self) }, is: ["Documents", "Group"])
    expect(export.roots.all.map(\.total), is: [Tally(items: 3, bytes: 11), Tally(items: 2, bytes: 6)])
    expect(export.version == "1.0" && export.estimate == 7_000_000 && export.isCompressible && export.isEstimateOff)
    expect(export.refused.count == 0 && export.unsent.count == 0 && export.scratchBytes == 0)
    check = nil
    _ = try device.app.lockOnceFree(.running)
    expect(tree("\(device.scratch.path)/home/containers"), is: before)
    expect(!exists("\(device.scratch.path)/home/scratch/\(AppDevice.identifier)"))
  }

  @Test func `refused appends and temporary files are reported`() throws {
    let device = try AppDevice(["kept": "text", "export": "at once"])
    expect(try check(device).export(until: StopSignal()).refused.count, is: 1)
    try write("copy", to: "\(device.app.containerPath)/Documents/export")
    let export = try check(device).export(until: StopSignal())
    expect(export.scratchBytes >= 3_000_000 && export.total.bytes > 3_000_000)
  }

  @Test func `another container can be given, and without one an empty one is used`() throws {
    let device = try AppDevice(["kept": "text"])
    let other = "\(device.scratch.path)/other"
    try write("12345", to: "\(other)/Documents/five")
    let named = try check(device, container: other)
    expect(named.data, is: .directory(Array(other.utf8)))
    expect(try named.export(until: StopSignal()).total, is: Tally(items: 2, bytes: 5))
    expect(tree(other), is: ["Documents": nil, "Documents/five": "12345"])
    let empty = try check(device, home: "\(device.scratch.path)/none")
    expect(empty.data, is: .empty)
    expect(try empty.export(until: StopSignal()).total, is: Tally(items: 1, bytes: 0))
    expect(!exists("\(device.scratch.path)/none"))
    expect(device.isFree)
  }

  @Test func `an exporter that crashes has failed`() throws {
    let device = try AppDevice(["export": "crash"])
    let error = archiveError { _ = try check(device).export(until: StopSignal()) }
    expect(error?.code == .exportFailed && error?.description.contains("signal 11") == true, "\(error as Any)")
    expect(device.isFree)
  }

  @Test func `an extension that adopts no protocol reports that`() throws {
    let device = try AppDevice()
    // A confined extension cannot be a script; this one reports that it is ready, without
    // abilities.
    let program = device.program
    try FileManager.default.removeItem(atPath: program)
    try write("#!/bin/sh\nprintf '\\000\\001\\001\\001\\000' >&3\nread line <&3\n", to: program, mode: 0o755)
    expect(try check(device, isConfined: false).abilities(until: StopSignal()), is: [])
    try write("#!/bin/sh\nexit 3\n", to: program, mode: 0o755)
    let error = archiveError { _ = try check(device, isConfined: false).abilities(until: StopSignal()) }
    expect(error?.description.contains("did not start as it should"), is: true, "\(error as Any)")
  }

  @Test func `a check that is stopped ends, and leaves no files`() throws {
    let device = try AppDevice(["kept": "text", "export": "for ever"])
    let stop = StopSignal()
    let export = try RunningThread("check") { [check = try check(device)] in
      archiveError { _ = try check.export(until: stop) }?.code
    }
    try news.wait(for: "appending")
    stop.set()
    expect(try export.value(), is: .stopped)
    _ = try device.app.lockOnceFree(.running)
  }

  @Test func `names that look percent-encoded are found if the container has the decoded names`() throws {
    let device = try AppDevice(["my file": "text", "export": "encoded"])
    expect(try check(device).export(until: StopSignal()).encoded, is: [Array("my%20file".utf8)])
    // A name in the container may look like this.
    try write("text", to: "\(device.app.containerPath)/Documents/my%20file")
    expect(try check(device).export(until: StopSignal()).encoded, is: [])
  }

  @Test func `the exporter gets the platform and the options of the check`() throws {
    let device = try AppDevice(["kept": "text", "behaviour": ""])
    let options = [AppRequest.Option(name: "names", value: Array("a/b".utf8)), AppRequest.Option(name: "x", value: [])]
    let found = try check(device).export(platform: "names", options: options, until: StopSignal())
    expect(found.roots.all.map { String(decoding: $0.name, as: UTF8.self) }.contains("a"))
    expect(news.notices.contains { $0.contains("'names', which is neither") })
    expect(news.notices.contains { $0.contains("does not know the option 'x'") })
  }
}
