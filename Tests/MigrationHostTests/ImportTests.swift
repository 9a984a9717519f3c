import Expectations
import Foundation
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationHost

@Suite struct ImportTests {
  private static let transfer = "0123456789abcdef0123456789abcdef"
  private static let failure = ReportedError(domain: "Notes", code: 7, text: "no room")

  /// The contents of the container.
  private func documents(_ app: InstalledApp) -> [String] {
    tree("\(app.containerPath)/Documents").keys.sorted()
  }

  private func record(_ failure: ReportedError?) -> ImportRecord {
    ImportRecord(failure: failure, transfer: nil, date: 5)
  }

  /// A whole migration into a container that holds data.
  private func migrate(_ app: InstalledApp, failing failure: ReportedError?, clearing: Bool = false) throws {
    try app.setRoomAside()
    try app.setContainerAside()
    try app.beginImport(transfer: Self.transfer)
    try write("new", to: "\(app.containerPath)/Documents/new-1")
    try write("new", to: "\(app.containerPath)/Documents/new-2")
    if clearing {
      try app.clearContainer()
      try app.putContainerBack()
    }
    try app.endImport(record(failure))
  }

  private func withData(_ scratch: Scratch) throws {
    let app = try scratch.install().prepared()
    try write("old", to: "\(app.containerPath)/Documents/old")
  }

  @Test func `a success keeps the new data, and the old under another name`() throws {
    let scratch = try Scratch()
    try withData(scratch)
    let app = try scratch.home().app("org.example.notes")
    try migrate(app, failing: nil)
    expect(documents(app), is: ["new-1", "new-2"])
    expect(app.importRecord, is: ImportRecord(failure: nil, transfer: Self.transfer, date: 5))
    expect(try app.unfinishedImport == nil && !app.isUnsettled)
    expect(try !app.settle())
    expect(documents(app), is: ["new-1", "new-2"])
    try migrate(app, failing: nil)
    let earlier = ["", "-2"].map { "\(scratch.path)/home/earlier/org.example.notes.before-1970-01-01\($0)" }
    expect(app.earlierData, is: earlier)
    expect(earlier.map { tree("\($0)/Documents").keys.sorted() }, is: [["old"], ["new-1", "new-2"]])
    try scratch.home().remove("org.example.notes")
    expect(earlier.allSatisfy { !exists($0) })
  }

  @Test(arguments: [false, true])
  func `a failure restores the old data, and is recorded`(clearing: Bool) throws {
    let scratch = try Scratch()
    try withData(scratch)
    let app = try scratch.home().app("org.example.notes")
    try migrate(app, failing: Self.failure, clearing: clearing)
    expect(documents(app), is: ["old"])
    expect(app.importRecord, is: ImportRecord(failure: Self.failure, transfer: Self.transfer, date: 5))
    expect(try !app.isUnsettled)
    expect(!exists("\(scratch.path)/home/trash/org.example.notes"))
  }

  @Test func `a failure without old data leaves an empty container`() throws {
    let scratch = try Scratch()
    let app = try scratch.install().prepared()
    try app.beginImport(transfer: Self.transfer)
    try write("new", to: "\(app.containerPath)/Documents/new")
    expect(try app.unfinishedImport, is: Self.transfer)
    try app.endImport(record(Self.failure))
    expect(try !app.holdsData && !app.isUnsettled)
  }

  @Test func `an import that died is undone, and the app learns that`() throws {
    let scratch = try Scratch()
    let app = try scratch.install().prepared()
    try app.beginImport(transfer: Self.transfer)
    try write("half", to: "\(app.containerPath)/Documents/half")
    let after = try scratch.home().app("org.example.notes")
    expect(try after.isUnsettled)
    expect(try after.settle())
    expect(try !after.holdsData && !after.isUnsettled)
    expect(after.importRecord?.failure, is: .interruptedImport)
    expect(after.importRecord?.transfer, is: Self.transfer)
    expect(try !after.settle())
  }

  @Test(arguments: [false, true])
  func `the room of a failed import is freed before anything is written, also by the next process`(
    isKilled: Bool
  ) throws {
    let scratch = try Scratch()
    _ = try scratch.install().prepared()
    let changes = Condition<[String]>([])
    let home = try AppHome(home: scratch.homePath) { (change) throws(Failure) in changes.withLock { $0.append(change) }
    }
    let app = try home.app("org.example.notes")
    try app.setRoomAside()
    try app.beginImport(transfer: Self.transfer)
    expect(try FileContent.read(scratch.at("home/imports/org.example.notes.room"), limit: 2 << 20).count, is: 1 << 20)
    try write("new", to: "\(app.containerPath)/Documents/new")
    changes.withLock { $0 = [] }
    if isKilled { try app.settle() } else { try app.endImport(record(Self.failure)) }
    expect(
      changes.withLock { $0.prefix(3) },
      is: [
        "remove imports/org.example.notes.room", "remove containers/org.example.notes",
        "write statuses/org.example.notes.json",
      ])
    expect(try !app.isUnsettled && !app.holdsData)
  }

  @Test func `a second attempt at the same transfer is not judged by the first`() throws {
    let scratch = try Scratch()
    let app = try scratch.install().prepared()
    try app.beginImport(transfer: Self.transfer)
    try app.endImport(record(nil))
    try app.beginImport(transfer: Self.transfer)
    try write("half", to: "\(app.containerPath)/Documents/half")
    expect(try app.settle())
    expect(try !app.holdsData)
    expect(app.importRecord?.failure, is: .interruptedImport)
  }

  @Test func `the result of another transfer does not count`() throws {
    let scratch = try Scratch()
    let app = try scratch.install().prepared()
    try ImportRecord(failure: nil, transfer: String(repeating: "f", count: 32), date: 1).write(to: app.statusPath)
    try app.beginImport(transfer: Self.transfer)
    try write("half", to: "\(app.containerPath)/Documents/half")
    expect(try app.settle())
    expect(try !app.holdsData)
  }

  @Test(arguments: ["", "rubbish\u{FF}\n", " restoring\n"])
  func `a mark without content still means that an import was in progress`(text: String) throws {
    let scratch = try Scratch()
    let app = try scratch.install().prepared()
    try write("half", to: "\(app.containerPath)/Documents/half")
    try write(text, to: "\(scratch.path)/home/imports/org.example.notes.mark")
    expect(try app.settle())
    expect(try !app.holdsData && !app.isUnsettled)
  }

  @Test func `a container that was moved aside for an import that never began is restored`() throws {
    let scratch = try Scratch()
    try withData(scratch)
    let app = try scratch.home().app("org.example.notes")
    try app.setContainerAside()
    expect(try !app.holdsData && app.isUnsettled)
    expect(try !app.settle())
    expect(documents(app), is: ["old"])
    expect(app.importRecord == nil)
  }

  /// All courses of a migration, and the required state after each interruption.
  private static let ways: [(failure: ReportedError?, clearing: Bool)] = [
    (nil, false), (failure, false), (failure, true),
  ]

  @Test(arguments: 0..<3, [Directory.RenameMethod.preferred, .plain])
  func `wherever a migration ends, and wherever its settling ends, the data is all old or all new`(
    way: Int, renaming: Directory.RenameMethod
  ) throws {
    let (failure, clearing) = Self.ways[way]
    var ends = 0
    var isSettled = false
    // The first process dies before one of its changes, the second before one of its own, and the
    // third completes.
    for first in 0... {
      var isFirstDone = false
      for second in 0... {
        let scratch = try Scratch()
        try withData(scratch)
        isFirstDone =
          (try? migrate(
            try scratch.home(failingAt: first, renaming: renaming).app("org.example.notes"), failing: failure,
            clearing: clearing)) != nil
        let successWasDecided =
          try scratch.home().app("org.example.notes").importRecord.map { $0.failure == nil } ?? false
        isSettled = (try? scratch.home(failingAt: second, renaming: renaming).app("org.example.notes").settle()) != nil
        let app = try scratch.home().app("org.example.notes")
        try app.settle()
        try check(app, isNew: successWasDecided, "\(first), \(second)")
        ends += 1
        if isSettled { break }
      }
      if isFirstDone { break }
    }
    expect(ends > 40, "\(ends)")
  }

  private func check(_ app: InstalledApp, isNew: Bool, _ place: String) throws {
    let home = String(app.containerPath.dropLast("/containers/org.example.notes".count))
    expect(documents(app), is: (isNew ? ["new-1", "new-2"] : ["old"]), "\(place)")
    expect(try !app.isUnsettled, "\(place)")
    expect(!exists("\(home)/trash/org.example.notes"), "\(place)")
    expect(exists("\(app.containerPath)/tmp"), "\(place)")
    expect(app.earlierData.map { tree("\($0)/Documents").keys.sorted() }, is: (isNew ? [["old"]] : []), "\(place)")
    if isNew { expect(app.importRecord?.failure == nil) }
  }
}
