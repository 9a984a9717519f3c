import Expectations
import Foundation
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire
import TestSupport
import Testing

@testable import peer

/// The options, refusals and output of the commands for authors.
@Suite struct AuthorsTests {
  private func parsed(_ words: String...) throws -> Command { try Command(words.map { Array($0.utf8) }) }

  @Test func `the parser reads the options of check and migrate`() throws {
    var check = CheckOptions(bundle: Array("b".utf8))
    expect(try parsed("app", "check", "b"), is: .check(check))
    (check.container, check.isConfined, check.json) = (Array("c".utf8), false, true)
    (check.extracted, check.isStrict) = (Array("e".utf8), true)
    check.platform = "android"
    check.options = [AppRequest.Option(name: "n", value: [])]
    expect(
      try parsed(
        "app", "check", "b", "--container=c", "--platform=android", "--option=n=", "--no-confine", "--json",
        "--extract=e", "--strict"),
      is: .check(check))
    var migrate = MigrateOptions(identifier: "a", bundle: Array("b".utf8))
    expect(try parsed("app", "migrate", "a", "--to", "b"), is: .migrate(migrate))
    migrate.home = Array("h".utf8)
    (migrate.archive, migrate.archiveVersion, migrate.bundleExports) = (Array("r".utf8), "2", true)
    migrate.sending.claim = SourceClaim(platform: "android", store: "x")
    migrate.importing.platform = "other"
    migrate.importing.requested = [AppRequest.Option(name: "n", value: Array("v".utf8))]
    (migrate.importing.replaces, migrate.sending.idleLimit) = (true, .off)
    (migrate.sending.isConfined, migrate.importing.isConfined) = (false, false)
    expect(
      try parsed(
        "app", "migrate", "a", "--to=b", "--home=h", "--as=android,x", "--platform=other", "--option", "n=v",
        "--replace", "--idle-limit=off", "--no-confine", "--archive=r", "--archive-version", "2", "--bundle-exports"),
      is: .migrate(migrate))
  }

  @Test func `the importing end gets the command line's options, and listens only on this device`() {
    var options = MigrateOptions(identifier: "a", bundle: [])
    options.importing.isConfined = false
    options.importing.replaces = true
    options.importing.platform = "other"
    let receiving = options.receiving(as: "b", from: Array("/b".utf8))
    expect(receiving.transfer.listen == HostAndPort(host: "127.0.0.1", port: 0) && !receiving.isAnnounced)
    expect(
      receiving.app == "b" && receiving.importing.replaces && !receiving.importing.isConfined
        && receiving.importing.platform == "other")
  }

  @Test func `a PEER_HOME inside, above or equal to that of the data is refused, and not created`() throws {
    let scratch = try Scratch()
    let source = "\(scratch.path)/a/source"
    try FileManager.default.createDirectory(atPath: source, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: "\(scratch.path)/link", withDestinationPath: source)
    for home in ["a/source", "a", "a/source/x/y", "link", "link/x", "a/source/"] {
      let failure = #expect(throws: Failure.self, "\(home)") {
        try DestinationHome(Array("\(scratch.path)/\(home)".utf8), apart: Array(source.utf8))
      }
      expect(failure?.kind == .refused && failure?.hint != nil)
    }
    expect(try FileManager.default.contentsOfDirectory(atPath: source), is: [])
    // A PEER_HOME that cannot hold apps is not created.
    let stray = Array("\(scratch.path)/b c/d".utf8)
    #expect(throws: Failure.self) { try DestinationHome(stray, apart: Array(source.utf8)) }
    expect(!FileManager.default.fileExists(atPath: "\(scratch.path)/b c"))
    // A name with the same beginning is another name.
    for home in ["a/source2", "b/c"] {
      let made = try DestinationHome(Array("\(scratch.path)/\(home)".utf8), apart: Array(source.utf8))
      expect(!made.isNew && FileManager.default.fileExists(atPath: "\(scratch.path)/\(home)"))
    }
    let new = try DestinationHome(nil, apart: Array(source.utf8))
    expect(new.isNew)
    // A migration that can go on says how.
    let hint = Failure(.importFailed, "no", hint: "It is kept.").resumed(in: new).hint
    expect(
      hint, is: "It is kept. To go on, run the same command with --home \(String(decoding: new.path, as: UTF8.self)).")
    expect(Failure(.refused, "no").resumed(in: new).hint == nil)
    new.discard()
    expect(!FileManager.default.fileExists(atPath: String(decoding: new.path, as: UTF8.self)))
  }

  @Test(
    arguments: [
      (nil, nil, nil), (9, 9, "exporter"), (7, 7, "importer"), (9, nil, "exporter"), (5, 7, "importer"),
      (5, 1, "importer"), (9, 130, "exporter"), (130, 130, "exporter"), (6, 6, "importer"), (4, 4, "importer"),
    ] as [(Int32?, Int32?, String?)])
  func `of two failures, the cause of the other one counts`(
    exporter: Int32?, importer: Int32?, counts: String?
  ) throws {
    let result = { (code: Int32?, name: String) -> TransferOutcome in
      guard let kind = code.flatMap({ Failure.Kind(rawValue: $0) }) else { return .success(Samples.result()) }
      return .failure(Failure(.failed, name, as: kind))
    }
    let results = BothEnds.Results(exporter: result(exporter, "exporter"), importer: result(importer, "importer"))
    expect(results.failure?.message, is: counts)
  }

  @Test func `after one's own interruption, what became of the import counts`() {
    let results = BothEnds.Results(
      exporter: .failure(.interrupted(by: .interrupted)), importer: .failure(Failure(.importCancelled, "cancelled")))
    expect(results.failure?.message, is: "cancelled")
  }

  @Test func `an error names its file, its key, the reason and a remedy`() throws {
    let fault = CheckFinding.fault(try fault())
    expect(
      fault.text.standardOutput,
      is: "Info.plist: CFBundleExecutable: it is missing\n  'peer help app install' says how a bundle is made.\n")
    expect(fault.line.standardOutput.hasPrefix(#"{"event":"fault","file":"Info.plist","key":"CFBundleExecutable""#))
  }

  private func fault() throws -> BundleFault {
    let scratch = try Scratch()
    let path = "\(scratch.path)/b"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let info = ["CFBundleIdentifier": "a", "CFBundleShortVersionString": "1"]
    try PropertyListSerialization.data(fromPropertyList: info, format: .xml, options: 0)
      .write(to: URL(fileURLWithPath: "\(path)/Info.plist"))
    return try #require(try AppBundle.examine(Array(path.utf8)).faults.first)
  }
}
