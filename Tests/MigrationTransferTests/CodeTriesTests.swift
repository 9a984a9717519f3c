import Expectations
import Foundation
import MigrationEngine
import MigrationSystem
import MigrationWire
import Synchronization
import TestSupport
import Testing

@testable import MigrationTransfer

/// The count of a code's tries, which the runs of a store share (Protocol §4.3).
@Suite struct CodeTriesTests {
  private let home: Scratch
  private let code = PairingCode(number: 4_829_136)
  private var store: TransferStore { TransferStore(home: home.at("home")) }

  init() throws { home = try Scratch() }

  private func spend(_ number: Int) throws { for _ in 0..<number { try CodeTries(of: code, in: store).spend() } }

  @Test func `three tries of a code are spent in all runs, and those that were right are given back`() throws {
    let before = try CodeTries(of: code, in: store)
    try before.spend()
    try before.giveBack()
    try spend(3)
    #expect(throws: Failure.self) { try CodeTries(of: code, in: store) }
    // A run that began before has none left either.
    let fault = #expect(throws: Failure.self) { try before.spend() }
    expect(fault?.kind, is: .pairing)
    try before.giveBack()
    try spend(1)
    try CodeTries(of: PairingCode(number: 4_829_137), in: store).spend()
  }

  @Test func `senders that run at the same time have three tries together`() throws {
    let (store, code) = (store, code)
    let spent = Atomic(0)
    let threads = try (0..<8).map { number in
      try RunningThread("sender \(number)") {
        let tries = try CodeTries(of: code, in: store)
        if (try? tries.spend()) != nil { spent.add(1, ordering: .relaxed) }
      }
    }
    for thread in threads { try? thread.value() }
    expect(spent.load(ordering: .relaxed), is: 3)
  }

  @Test func `the record shows no code, and begins anew once it was removed`() throws {
    try spend(2)
    let running = try CodeTries(of: code, in: store)
    let record = home.path("home/codes/state")
    let first = try #require(FileManager.default.contents(atPath: record))
    for digits in ["48291367", "4829-136", "4829136"] { expect(first.range(of: Data(digits.utf8)) == nil) }
    try FileManager.default.removeItem(atPath: record)
    try running.spend()
    let second = try #require(FileManager.default.contents(atPath: record))
    expect(first.count == second.count && first != second)
    try spend(2)
    #expect(throws: Failure.self) { try CodeTries(of: code, in: store) }
  }

  @Test func `a code whose tries cannot be counted is not tried`() throws {
    try spend(1)
    let running = try CodeTries(of: code, in: store)
    let record = home.path("home/codes/state")
    try Data("peer tries 1\n, and nothing".utf8).write(to: URL(fileURLWithPath: record))
    #expect(throws: Failure.self) { try running.spend() }
    #expect(throws: Failure.self) { try CodeTries(of: code, in: store) }
    // No directory can be made below a file.
    home.write("file", "")
    #expect(throws: Failure.self) { try CodeTries(of: code, in: TransferStore(home: home.at("file"))) }
  }
}
