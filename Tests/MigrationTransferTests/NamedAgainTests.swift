import Expectations
import Glibc
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// After both devices were started again, both users get the names of the refused items again, also
/// if everything had arrived by then.
@Suite struct NamedAgainTests {
  private let source: Scratch
  private let destination: Scratch
  private let homes: Scratch
  private let taken: ArchivePath
  private let expected = [("tree/a:b", NotStored.Reason.nameNotAllowed), ("tree/taken", .nameTaken)].map {
    "\($0): \($1.rawValue)"
  }

  init() throws {
    taken = try ArchivePath(Array("tree/taken".utf8))
    (source, destination, homes) = (try Scratch(), try Scratch(), try Scratch())
    for name in ["kept", "taken", "a:b"] { source.write("tree/\(name)", patternData(5_000)) }
  }

  private var sending: TransferStore { TransferStore(home: homes.at("sending")) }
  private var receiving: TransferStore { TransferStore(home: homes.at("receiving")) }

  private func named(_ events: Events) -> [String] {
    events.all.compactMap { event in
      guard case .notStored(let item, _) = event else { return nil }
      return "\(String(decoding: item.path, as: UTF8.self)): \(item.reason.rawValue)"
    }.sorted()
  }

  private func sender(to port: UInt16, code: PairingCode?) throws -> RunningSender {
    try RunningSender([source.at("tree")], to: port, giveUpAfter: 30, store: sending, code: code)
  }

  /// A run of both that ends when everything has arrived; the sender hears nothing of the import.
  private func run(isImported: Bool) throws {
    let sender = Condition<RunningSender?>(nil)
    let importer = try NarrowImporter(destination, taken: taken) { () throws(Failure) in
      _ = sender.wait { $0 }?.stop()
      if !isImported { throw Failure(.storage, "the disk fails") }
    }
    let receiver = try RunningReceiver(destination, giveUpAfter: 30, store: receiving, importer: importer)
    let made = try self.sender(to: try receiver.port(), code: try receiver.events.code())
    sender.withLock { $0 = made }
    sender.broadcast()
    guard isImported else {
      expect(receiver.failure()?.kind, is: .failed)
      return
    }
    _ = try receiver.events.first { if case .done = $0 { true } else { nil } }
    expect(receiver.stop() == nil)
    expect(named(receiver.events), is: expected)
  }

  /// A receiver that comes back, as soon as the one before has let go of the destination.
  private func receiver() throws -> RunningReceiver {
    let deadline = soon()
    while true {
      do {
        return try RunningReceiver(destination, giveUpAfter: 30, store: receiving)
      } catch let error as Failure where error.kind == .refused && BootInstant.now() < deadline {
        sched_yield()
      }
    }
  }

  @Test(arguments: [false, true])
  func `both users get the names when an import resumes, and when only its end is remembered`(isImported: Bool) throws {
    try run(isImported: isImported)
    let receiver = try receiver()
    let sender = try sender(to: try receiver.port(), code: nil)
    expect(try sender.result().notStored, is: 2)
    expect(try receiver.result().notStored, is: 2)
    expect(named(sender.events), is: expected)
    expect(named(receiver.events), is: expected)
    expect(destination.content("tree/kept"), is: patternData(5_000))
    expect(try receiving.list().transfers.isEmpty && sending.list().transfers.isEmpty)
  }
}
