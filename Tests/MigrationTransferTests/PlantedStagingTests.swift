import Foundation
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// The staging directory of an earlier run, in which an attacker has put links since.
@Suite struct PlantedStagingTests {
  private let attack: Attack
  private let home: Scratch

  init() throws {
    attack = try Attack()
    home = try Scratch()
  }

  private var store: TransferStore { TransferStore(home: home.at("home")) }

  /// A first session that leaves a staged file behind; the sender's key and the transfer.
  private func stageSomething() throws -> (Identity, Begun) {
    let receiver = try attack.surroundings.receiver(store: store, giveUpAfter: 30)
    let port = try receiver.port()
    var sender = try StrangeClient(port: port).pair(try receiver.events.code())
    let accept = try #require(try sender.begin(StrangeSender.offer([Attack.root])))
    var stream = try sender.join(port, Join(session: accept.session, stream: 0))
    var frame = StrangeFrame()
    frame.item(try record("root", .directory))
    frame.file(try record("root/secret", .file(size: 6)), Array("staged".utf8), accept.keys)
    let place = ChunkPlace(path: try ArchivePath(Array("root/part".utf8)), generation: 1, range: 0..<5)
    frame.chunk(place, Array("taken".utf8), accept.keys)
    try stream.say(frame.frame(0))
    _ = try stream.connection.readExactly(Limits.frameHeader + 16, until: soon())
    let identity = sender.identity
    // Everything ends at once, as when a sender is killed: the staged data is not synced yet, so
    // the next run reads it again.
    stream.connection.close(within: .zero)
    sender.control.close()
    receiver.stop()
    return (identity, accept)
  }

  private func replace(_ path: String) throws {
    try FileManager.default.moveItem(atPath: path, toPath: home.path + "/moved")
    let isFile = path.hasSuffix("journal") || path.hasSuffix("part") || path.hasSuffix("root/secret")
    let target = attack.surroundings.outside + (isFile ? "/secret" : "")
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
  }

  @Test(arguments: ["", "/tree", "/journal", "/tree/root", "/tree/root/secret", "/tree/root/part"])
  func `the receiver follows no link that replaces a part of staging`(place: String) throws {
    let (identity, accept) = try stageSomething()
    let name = try #require(attack.surroundings.destination.names().first)
    try replace(attack.surroundings.destination.path + "/" + name + place)
    try comeBack(identity, accept)
    try attack.expectHarmless()
  }

  /// The second session, which says everything once more as if the ledger had said nothing.
  private func comeBack(_ identity: Identity, _ accept: Begun) throws {
    let receiver = try attack.surroundings.receiver(store: store)
    let port = try receiver.port()
    var sender = try StrangeClient(port: port, identity: identity).comeBack()
    let again = try #require(
      try sender.begin(StrangeSender.offer([Attack.root]), continuing: accept.transfer))
    var stream = try sender.join(port, Join(session: again.session, stream: 0))
    let records = [
      try record("root", .directory), try record("root/secret", .file(size: 6)),
      try record("root/part", .file(size: 10)),
    ]
    let keys = again.keys
    var frame = StrangeFrame()
    frame.item(records[0])
    frame.file(records[1], Array("staged".utf8), keys)
    for start in [0, 5] as [UInt64] {
      let place = ChunkPlace(path: records[2].path, generation: 1, range: start..<start + 5)
      frame.chunk(place, Array("taken".utf8), keys)
    }
    frame.item(records[2])
    try stream.say(frame.frame(0) + StreamMessage.end.frame())
    _ = try? stream.connection.readExactly(Limits.frameHeader + 16, until: soon())
    let digest = records.reduce(UInt128(0)) { $0 &+ again.keys.mark(path: $1.path, generation: $1.generation) }
    sender.control.say(.finish(Finish(total: Tally(items: 3, bytes: 16), unsent: 0, digest: digest)))
    let done = try sender.next { if case .done(let done) = $0 { done } else { nil } }
    if done != nil { sender.control.say(.receipt) }
    sender.control.close()
    let failure = receiver.failure()
    // Either all of it is there, as it was sent, or the receiver has said why not.
    if done != nil {
      #expect(failure == nil)
      #expect(attack.surroundings.destination.content("root/secret") == Data("staged".utf8))
      #expect(attack.surroundings.destination.content("root/part") == Data("takentaken".utf8))
    } else {
      #expect(failure?.kind == .refused || failure?.kind == .failed, "\(failure.debugDescription)")
      attack.surroundings.expectNothingArrived()
    }
  }
}
