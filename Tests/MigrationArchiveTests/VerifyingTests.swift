import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// Received files that are read again before they are put in place.
@Suite struct VerifyingTests {
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch.withFolders()
    scratch.write("source/small", pattern(10))
    scratch.write("source/whole", pattern(20))
    scratch.write("source/empty", [])
    scratch.write("source/large", pattern(700_000))
    scratch.write("source/long", pattern(700_000))
    precondition(link(scratch.path("source/small"), scratch.path("source/again")) == 0)
  }

  /// Sends everything; `spoil` changes what is staged. Returns what is not stored.
  private func send(verifying isVerified: Bool, _ spoil: (String) -> Void) throws -> (Arrival, [String]) {
    scratch.letSettle()
    let source = try FolderSource(paths: [scratch.at("source")])
    let summary = try source.prepare(until: StopSignal())
    let outlet = Outlet()
    let result = try source.export(to: outlet)
    let offer = Offer(
      contents: summary.contents, items: summary.total.items, bytes: summary.total.bytes, allocated: 0, flags: [])
    let arrival = try Arrival(scratch, offer)
    try arrival.write(outlet.frames)
    spoil(arrival.tree)
    try arrival.staging.complete(result.finish, verifying: isVerified) { _ in }
    _ = try arrival.importer.importItems(of: arrival.staging) { _ in }
    let refused = arrival.staging.refusals(from: 0).map {
      "\(String(decoding: $0.path, as: UTF8.self)): \($0.reason.name)"
    }
    return (arrival, refused.sorted())
  }

  private func spoil(_ tree: String) {
    scratch.write("\(tree)/source/large", pattern(700_000, except: 600_000))
    // The other name is made at the end.
    for name in scratch.names("\(tree)/source") where name == "small" || name == "again" {
      scratch.write("\(tree)/source/\(name)", pattern(10, except: 9))
    }
  }

  @Test func `a file that reads otherwise than it was sent is not stored, and named with its hard links`() throws {
    let (arrival, refused) = try send(verifying: true) { spoil($0) }
    expect(refused.count == 3 && arrival.staging.notStored == 3)
    expect(refused.contains { $0.contains("large") && $0.hasSuffix("differs") })
    expect(refused.filter { $0.hasSuffix("differs") }.count, is: 2)
    expect(refused.filter { $0.hasSuffix("targetNotStored") }.count, is: 1)
    expect(Set(scratch.names("destination/source")), is: ["empty", "long", "whole"])
  }

  @Test func `a hole that has bytes is not stored`() throws {
    scratch.cut("source/long", to: 3_000_000)
    let (_, refused) = try send(verifying: true) { tree in
      let file = open(scratch.path("\(tree)/source/long"), O_WRONLY)
      precondition(pwrite(file, "x", 1, 2_999_999) == 1 && close(file) == 0)
    }
    expect(refused, is: ["source/long: differs"])
  }

  @Test func `everything that reads as it was sent is stored`() throws {
    expect(try send(verifying: true) { _ in }.1, is: [])
    expect(scratch.snapshot("destination/source").differences(from: scratch.snapshot("source")), is: [])
  }

  @Test func `without the option, no file is read again`() throws {
    expect(try send(verifying: false) { spoil($0) }.1, is: [])
    expect(scratch.names("destination/source").count, is: 6)
  }

  private func pattern(_ count: Int, except place: Int? = nil) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ ($0 == place ? 1 : 0)) }
  }
}
