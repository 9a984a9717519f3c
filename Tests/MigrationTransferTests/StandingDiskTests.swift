import Expectations
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// A receiver whose disk stands still at a step of the importer.
private struct StandingDisk {
  let gate = Gateway()
  let receiver: RunningReceiver

  init(at step: SlowImporter.Step) throws {
    let (gate, destination) = (gate, try Scratch())
    let importer = FolderImporter(try StagingArea(at: Array(destination.path.utf8)))
    // On the world's clock: the test measures how soon a run ends.
    receiver = try RunningReceiver(
      destination, pace: LoopClock(), giveUpAfter: 60,
      importer: SlowImporter(importer) { reached, _ in if reached == step { gate.pass() } })
  }

  /// A sender that has brought the receiver to the step at which the disk stands still.
  func reach(_ step: SlowImporter.Step) throws -> StrangeSender {
    var sender = try StrangeClient(port: try receiver.port()).pair(try receiver.events.code())
    let offer = StrangeSender.offer([Root(kind: .directory, name: Array("root".utf8))])
    if step == .importItems {
      _ = try #require(try sender.begin(offer))
      sender.control.say(.finish(Finish(total: Tally(), unsent: 0, digest: 0)))
    } else if step == .judge {
      sender.propose(offer)
    } else {
      _ = try sender.offer(offer)
    }
    try sender.passOn()
    try gate.waitUntilReached()
    return sender
  }

  /// The sender is answered, and a stranger is turned away.
  func expectLife(_ sender: inout StrangeSender) throws {
    sender.control.say(.ping(7))
    let pong = try sender.next { if case .pong(let token) = $0 { token } else { nil } }
    expect(pong, is: 7)
    var stranger = try StrangeClient(port: try receiver.port())
    try stranger.connection.say(
      .clientHello(versions: PairingFrame.version...PairingFrame.version, mode: .pair), until: soon())
    expect(try stranger.refusal(), is: .busy)
  }
}

/// While the disk stands still in one of a receiver's workers, everything else continues.
@Suite struct StandingDiskTests {
  @Test(arguments: [SlowImporter.Step.judge, .present])
  func `while an offer is looked at, others are heard, and a stop ends the run`(step: SlowImporter.Step) throws {
    let standing = try StandingDisk(at: step)
    defer { standing.gate.open() }
    var sender = try standing.reach(step)
    try standing.expectLife(&sender)
    expect(standing.receiver.stop()?.kind, is: .interrupted)
    expect(try sender.closeCode(), is: .interrupted)
    sender.control.close()
  }

  @Test func `while an import stands still, a stop ends the run, and the next one has the received data`() throws {
    let standing = try StandingDisk(at: .importItems)
    defer { standing.gate.open() }
    var sender = try standing.reach(.importItems)
    expect(standing.receiver.stop()?.kind, is: .interrupted)
    expect(try sender.closeCode(), is: .interrupted)
    sender.control.close()
  }

  @Test func `while an import stands still, others are heard, and it resumes afterwards`() throws {
    let standing = try StandingDisk(at: .importItems)
    defer { standing.gate.open() }
    var sender = try standing.reach(.importItems)
    try standing.expectLife(&sender)
    standing.gate.open()
    let done = try sender.next { if case .done(let done) = $0 { done } else { nil } }
    expect(done?.total, is: Tally())
    sender.control.say(.receipt)
    sender.control.close()
    expect(try standing.receiver.result().total, is: Tally())
  }
}
