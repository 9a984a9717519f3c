import Expectations
import Foundation
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// Sessions of one transfer that meet at the receiver.
@Suite struct CourseTests {
  private static let root = Root(kind: .directory, name: Array("root".utf8))

  @Test func `a session that comes while another one's offer is judged waits for that, and is judged then`() throws {
    let barrier = Gateway()
    let destination = try Scratch()
    let importer = SlowImporter(FolderImporter(try StagingArea(at: Array(destination.path.utf8)))) { step, _ in
      if step == .present { barrier.pass() }
    }
    let receiver = try RunningReceiver(destination, giveUpAfter: 60, importer: importer)
    defer { barrier.open() }
    var older = try StrangeClient(port: try receiver.port()).pair(try receiver.events.code())
    let verdict = try older.offer(StrangeSender.offer([Self.root]))
    try older.passOn()
    try barrier.waitUntilReached()
    var newer = try StrangeClient(port: try receiver.port(), identity: older.identity).comeBack()
    newer.propose(StrangeSender.offer([Self.root]), continuing: verdict?.transfer)
    try newer.passOn()
    expect(try older.closeCode(), is: .superseded)
    barrier.open()
    let answer = try newer.next { if case .verdict(let verdict) = $0 { verdict } else { nil } }
    expect(answer?.parts == [.taken()] && answer?.transfer == verdict?.transfer)
    older.control.close()
    newer.control.close()
    receiver.stop()
  }

  @Test func `a session that comes during the import learns of its end`() throws {
    let barrier = Gateway()
    let destination = try Scratch()
    let importer = SlowImporter(FolderImporter(try StagingArea(at: Array(destination.path.utf8)))) { step, _ in
      if step == .importItems { barrier.pass() }
    }
    let receiver = try RunningReceiver(destination, giveUpAfter: 60, importer: importer)
    defer { barrier.open() }
    var older = try StrangeClient(port: try receiver.port()).pair(try receiver.events.code())
    let begun = try #require(try older.begin(StrangeSender.offer([Self.root])))
    older.control.say(.finish(Finish(total: Tally(), unsent: 0, digest: 0)))
    try older.passOn()
    try barrier.waitUntilReached()
    var newer = try StrangeClient(port: try receiver.port(), identity: older.identity).comeBack()
    _ = try newer.offer(StrangeSender.offer([Self.root]), continuing: begun.transfer)
    try newer.passOn()
    expect(try older.closeCode(), is: .superseded)
    barrier.open()
    let done = try newer.next { if case .done(let done) = $0 { done } else { nil } }
    expect(done?.total, is: Tally())
    newer.control.say(.receipt)
    newer.control.close()
    older.control.close()
    expect(try receiver.result().total, is: Tally())
  }

  @Test func `an empty transfer gives way to a resumed one, and ends nothing by that`() throws {
    let destination = try Scratch()
    let home = try Scratch()
    let store = TransferStore(home: home.at("home"))
    let directory = try record("root", .directory)
    let (identity, transfer) = try interruptedTransfer(of: directory, try RunningReceiver(destination, store: store))
    let receiver = try RunningReceiver(destination, giveUpAfter: 60, store: store)
    var empty = try StrangeClient(port: try receiver.port()).pair(try receiver.events.code())
    _ = try #require(try empty.begin(StrangeSender.offer([Self.root])))
    var returned = try StrangeClient(port: try receiver.port(), identity: identity).comeBack()
    expect(try empty.closeCode(), is: .interrupted)
    let accept = try #require(try returned.begin(StrangeSender.offer([Self.root]), continuing: transfer))
    expect(accept.transfer, is: transfer)
    let digest = accept.keys.mark(path: directory.path, generation: directory.generation)
    returned.control.say(.finish(Finish(total: Tally(items: 1, bytes: 0), unsent: 0, digest: digest)))
    let done = try returned.next { if case .done(let done) = $0 { done } else { nil } }
    expect(done?.total, is: Tally(items: 1, bytes: 0))
    returned.control.say(.receipt)
    returned.control.close()
    empty.control.close()
    expect(try receiver.result().total, is: Tally(items: 1, bytes: 0))
  }

  /// Leaves a transfer of one item unfinished; by whom, and which one it is.
  private func interruptedTransfer(
    of item: ItemRecord, _ receiver: RunningReceiver
  ) throws -> (Identity, TransferID) {
    var sender = try StrangeClient(port: try receiver.port()).pair(try receiver.events.code())
    let accept = try #require(try sender.begin(StrangeSender.offer([Self.root])))
    var stream = try sender.join(try receiver.port(), Join(session: accept.session, stream: 0))
    var frame = StrangeFrame()
    frame.item(item)
    try stream.say(frame.frame(0))
    _ = try stream.connection.readExactly(Limits.frameHeader + 16, until: soon())
    sender.control.close()
    stream.connection.close()
    expect(receiver.failure()?.kind, is: .connectionLost)
    return (sender.identity, accept.transfer)
  }
}
