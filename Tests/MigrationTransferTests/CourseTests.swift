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
  // MARK: Races

  @Test func `an archive that ends while a newer session's offer is judged is that of one session`() throws {
    try race { try Rivals() }
  }

  @Test func `the same with an importer that takes its time`() throws {
    try race { try Rivals(meeting: Meeting()) }
  }

  private func race(_ rivals: () throws -> Rivals) throws {
    // The loser of the last round gets more of a lead, so that both win about equally.
    var lead = 1e-3
    var (open, accepted, wrong) = (0, 0, 0)
    for round in 1...Rounds.count {
      // One that lies can only lose, so that it says nothing of the lead.
      let isLying = round % 4 == 0
      let rivals = try rivals()
      guard let outcome = try? rivals.race(lead: .seconds(lead * .random(in: 0.7...1.4)), isLying: isLying) else {
        wrong += 1
        Issue.record("round \(round): a session waits for its answer in vain")
        continue
      }
      if !isLying, rivals.isOpen {
        lead *= outcome.isNewerAccepted ? 0.8 : 1.25
        open += 1
        accepted += outcome.isNewerAccepted ? 1 : 0
      }
      let faults = rivals.faults(outcome, isLying: isLying)
      if !faults.isEmpty { wrong += 1 }
      #expect(faults == [], "round \(round): \(outcome)")
    }
    print("\(Rounds.count) rounds, \(wrong) of them wrong; of \(open) races the newer session won \(accepted)")
  }

  // MARK: One after the other

  @Test func `a session that comes while another one's offer is judged waits for that, and is judged then`() throws {
    let barrier = Gateway()
    let destination = try Scratch()
    let importer = SlowImporter(FolderImporter(try StagingArea(at: Array(destination.path.utf8)))) { step, _ in
      if step == .present { barrier.pass() }
    }
    let receiver = try RunningReceiver(destination, giveUpAfter: 60, importer: importer)
    defer { barrier.open() }
    var older = try StrangeClient(port: try receiver.port()).pair(try receiver.events.code())
    let verdict = try older.offer(StrangeSender.offer([Attack.root]))
    try older.passOn()
    try barrier.waitUntilReached()
    var newer = try StrangeClient(port: try receiver.port(), identity: older.identity).comeBack()
    newer.propose(StrangeSender.offer([Attack.root]), continuing: verdict?.transfer)
    try newer.passOn()
    #expect(try older.closeCode() == .superseded)
    barrier.open()
    let answer = try newer.next { if case .verdict(let verdict) = $0 { verdict } else { nil } }
    #expect(answer?.parts == [.taken()] && answer?.transfer == verdict?.transfer)
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
    let begun = try #require(try older.begin(StrangeSender.offer([Attack.root])))
    older.control.say(.finish(Finish(total: Tally(), unsent: 0, digest: 0)))
    try older.passOn()
    try barrier.waitUntilReached()
    var newer = try StrangeClient(port: try receiver.port(), identity: older.identity).comeBack()
    _ = try newer.offer(StrangeSender.offer([Attack.root]), continuing: begun.transfer)
    try newer.passOn()
    #expect(try older.closeCode() == .superseded)
    barrier.open()
    let done = try newer.next { if case .done(let done) = $0 { done } else { nil } }
    #expect(done?.total == Tally())
    newer.control.say(.receipt)
    newer.control.close()
    older.control.close()
    #expect(try receiver.result().total == Tally())
  }

  @Test func `an empty transfer gives way to a resumed one, and ends nothing by that`() throws {
    let surroundings = try Surroundings()
    let home = try Scratch()
    let store = TransferStore(home: home.at("home"))
    let directory = try record("root", .directory)
    let (identity, transfer) = try interruptedTransfer(of: directory, try surroundings.receiver(store: store))
    let receiver = try surroundings.receiver(store: store, giveUpAfter: 60)
    var empty = try StrangeClient(port: try receiver.port()).pair(try receiver.events.code())
    _ = try #require(try empty.begin(StrangeSender.offer([Attack.root])))
    var returned = try StrangeClient(port: try receiver.port(), identity: identity).comeBack()
    #expect(try empty.closeCode() == .interrupted)
    let accept = try #require(try returned.begin(StrangeSender.offer([Attack.root]), continuing: transfer))
    #expect(accept.transfer == transfer)
    let digest = accept.keys.mark(path: directory.path, generation: directory.generation)
    returned.control.say(.finish(Finish(total: Tally(items: 1, bytes: 0), unsent: 0, digest: digest)))
    let done = try returned.next { if case .done(let done) = $0 { done } else { nil } }
    #expect(done?.total == Tally(items: 1, bytes: 0))
    returned.control.say(.receipt)
    returned.control.close()
    empty.control.close()
    #expect(try receiver.result().total == Tally(items: 1, bytes: 0))
  }

  /// Leaves a transfer of one item unfinished; by whom, and which one it is.
  private func interruptedTransfer(
    of item: ItemRecord, _ receiver: RunningReceiver
  ) throws -> (Identity, TransferID) {
    var sender = try StrangeClient(port: try receiver.port()).pair(try receiver.events.code())
    let accept = try #require(try sender.begin(StrangeSender.offer([Attack.root])))
    var stream = try sender.join(try receiver.port(), Join(session: accept.session, stream: 0))
    var frame = StrangeFrame()
    frame.item(item)
    try stream.say(frame.frame(0))
    _ = try stream.connection.readExactly(Limits.frameHeader + 16, until: soon())
    sender.control.close()
    stream.connection.close()
    #expect(receiver.failure()?.kind == .connectionLost)
    return (sender.identity, accept.transfer)
  }
}
