import Expectations
import Foundation
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive
@testable import MigrationTransfer

@Suite struct StoreTests {
  private let scratch: Scratch
  private let store: TransferStore

  init() throws {
    scratch = try Scratch()
    store = TransferStore(home: scratch.at("home"))
  }

  private func sending(_ transfer: TransferID, _ sources: [String] = ["/a", "/b"]) throws -> TransferRecord {
    let identity = try Identity.generate()
    return TransferRecord(
      transfer: transfer, role: .sender, identity: try identity.encoded(), peer: identity.fingerprint, label: "Ärmel",
      address: "192.0.2.7:47470", started: 1000, lastSeen: 2000 + Int64(truncatingIfNeeded: transfer),
      total: Tally(items: 3, bytes: 4), held: Tally(items: 1, bytes: 2),
      subject: .sources(sources.map { Array($0.utf8) }), plan: Self.plan, parts: [PartRecord()])
  }

  private static let plan = Plan([Part(.folders([Root(kind: .file, name: [0x61, 0xFF])]), name: "a")])

  private func refusals(_ count: Int, long: Int = 0) throws -> [NotStored] {
    try (0..<count).map { number in
      let name = "a/\(number)" + String(repeating: "n", count: long)
      return NotStored(
        path: try ArchivePath(Array(name.utf8)), generation: 7, .nameTaken, error: number == 0 ? nil : 22)
    }
  }

  private func receiving(_ transfer: TransferID, into path: [UInt8], done: Int64? = nil) throws -> TransferRecord {
    var remembered = try sending(transfer)
    remembered = TransferRecord(
      transfer: transfer, role: .receiver, identity: remembered.identity, peer: remembered.peer, label: "",
      address: "192.0.2.9:1", started: 1, lastSeen: 2, total: remembered.total, held: remembered.held,
      subject: .destination(path, port: 47471), plan: Self.plan, parts: [PartRecord()])
    remembered.parts[0].begun = .init(
      keys: TransferKeys(hashKey: 6), totals: PartTotals(items: 1, bytes: 2, allocated: 3))
    remembered.parts[0].finished = done.map { .init(done: Done(total: Tally(items: 1, bytes: 2)), at: $0) }
    remembered.parts[0].unsent = 6
    if done != nil { remembered.parts[0].notStored = try refusals(2) }
    return remembered
  }

  @Test func `a record is never longer than its reader takes: the earliest parts lose the names of items`() throws {
    let one = try receiving(4, into: [0x2F], done: 5)
    let (root, long) = (
      Root(kind: .directory, name: [0x61]), String(repeating: "/" + String(repeating: "a", count: 254), count: 250)
    )
    var many = TransferRecord(
      transfer: 4, role: .receiver, identity: one.identity, peer: one.peer, label: "", address: "192.0.2.9:1",
      started: 1, lastSeen: 2, total: one.total, held: one.held, subject: one.subject,
      plan: Plan((0..<20).map { Part(.folders([root]), name: "\($0)") }),
      parts: Array(repeating: one.parts[0], count: 20))
    for number in many.parts.indices {
      many.parts[number].notStored = try (0..<60).map { item in
        NotStored(path: try ArchivePath(Array("a/\(item)\(long)".utf8)), generation: 7, .nameTaken)
      }
    }
    let bytes = many.encoded
    expect(bytes.count <= TransferRecord.sizeLimit)
    let read = try TransferRecord(encoded: bytes)
    let named = read.parts.map(\.notStored.count)
    expect(named.first == 0 && named.last == 60 && named == named.sorted())
    expect(read.parts[0].finished == one.parts[0].finished && read.parts[0].unsent == 6)
  }

  @Test func `an unfinished move goes on until another one has begun, to any device`() throws {
    let record = try sending(4, ["everything:/home/anna", "/home/anna/a"])
    _ = try store.create(record)
    let name = Array("everything:/home/anna".utf8)
    expect(store.unfinishedMigration(of: name)?.transfer, is: 4)
    expect(store.unfinishedMigration(of: Array("everything:/home/bob".utf8)) == nil)
    let identity = try Identity.generate()
    let device = KnownDevice(
      role: .sender, identity: try identity.encoded(), peer: identity.fingerprint, label: "new", address: "a",
      since: 1000, lastUsed: 1000, until: nil, meeting: nil)
    _ = try store.changingDevices { try store.keep(device) }
    expect(store.unfinishedMigration(of: name)?.transfer, is: 4)
    try store.noteUse(of: device.peer, as: .sender, label: "new", address: "a", now: 1001)
    expect(store.unfinishedMigration(of: name) == nil)
  }

  @Test func `a record is read as it was written`() throws {
    var elsewhere = try receiving(4, into: [0x2F])
    elsewhere.parts[0].begun?.elsewhere = [0x2F, 0xFE]
    elsewhere.parts[0].begun?.folder = try ArchivePath(Array("laptop/2026-11-27".utf8))
    elsewhere.parts[0].begun?.taken = [.files, .apps]
    elsewhere.consent = Consent([
      Consent.Subject(part: "role home", kind: .files, places: [[0x64], [0xFF]]): true,
      Consent.Subject(part: "app x", kind: .secrets, places: []): false,
    ])
    elsewhere.parts[0].refusedRoots = 3
    elsewhere.meeting = [UInt8](0..<32)
    for remembered in [
      elsewhere, try sending(1), try receiving(2, into: [0x2F, 0xFF]), try receiving(3, into: [0x2F], done: 77),
    ] {
      expect(try TransferRecord(encoded: remembered.encoded), is: remembered)
    }
  }

  @Test func `what is too old or too much is forgotten, from the oldest connection on`() throws {
    let place = scratch.at("destination")
    for number in 1...4 as ClosedRange<TransferID> {
      var remembered = try receiving(number << 112, into: place, done: number == 4 ? 77 : nil)
      (remembered.lastSeen, remembered.held) = (Int64(number) * 100, Tally(items: 1, bytes: 10))
      try store.leave(remembered)
    }
    try store.leave(try receiving(9 << 112, into: Array("/elsewhere".utf8)))
    func left() throws -> [TransferID] { try store.list().transfers.map { $0.remembered.transfer >> 112 }.sorted() }
    expect(
      try store.expire(Keeping(), at: place, at: TransferStore.StoreTime(1 << 40)) == [] && left() == [1, 2, 3, 4, 9])
    let old = try store.expire(Keeping(longest: 100), at: place, at: TransferStore.StoreTime(250))
    expect(
      old.map(\.transfer) == [1 << 112] && old.allSatisfy { $0.isOld && $0.held == 10 && $0.device == "192.0.2.9:1" })
    expect(try left(), is: [2, 3, 4, 9])
    expect(try store.expire(Keeping(most: 20), at: place, at: TransferStore.StoreTime(250)), is: [])
    // What a process works on stays, and counts.
    let held = try store.open(2 << 112, role: .receiver)
    let much = try store.expire(Keeping(longest: 1000, most: 10), at: place, at: TransferStore.StoreTime(350))
    expect(much.map(\.transfer) == [3 << 112] && much.allSatisfy { !$0.isOld })
    expect(
      try store.expire(Keeping(longest: 1), at: place, at: TransferStore.StoreTime(350)) == [] && left() == [2, 4, 9])
    extendLifetime(held)
  }

  @Test(
    arguments: [
      // An hour later, twice, and a week off.
      ([(1_000_000, 100), (1_003_600, 3_700), (1_007_300, 7_400), (1_600_000, 50)], true),
      // The clock is set: ahead, back, at the start, by a kill of the machine; and back to the right time.
      ([(1_000_000, 100), (9_000_000, 200)], false), ([(1_000_000, 100), (9_000, 200), (1_000_100, 300)], false),
      ([(1_000_000, 100), (2_000_000, 5)], false), ([(1_000_000, 100), (200_000, 5), (1_100_000, 60)], false),
      // It is set ahead by less than a week, and the machine was on.
      ([(1_000_000, 172_800), (1_518_400, 176_400)], false),
      // A first look, and a clock without a year.
      ([(1_000_000, 100)], false), ([(0, 5), (1_700_000_000, 20)], false),
      ([(.min, 5), (.max, 20)], false), ([(.max, 5), (.min, 20)], false),
    ] as [([(Int64, Int64)], Bool)])
  func `nothing is too old right after a step of the clock that no waiting explains`(
    looks: [(now: Int64, uptime: Int64)], isOver: Bool
  ) throws {
    var time = isOver ? TransferStore.StoreTime(looks[0].now - 10, uptime: looks[0].uptime - 10) : nil
    for look in looks { time = .next(after: time, now: look.now, uptime: look.uptime) }
    let last = try #require(time)
    expect(try TransferStore.StoreTime(encoded: last.encoded), is: last)
    expect(last.isOver(50, since: 0) == isOver && last.isOver(50, since: .min) == isOver)
    // It is once that much time has passed.
    let later = TransferStore.StoreTime.next(after: last, now: min(last.now, .max - 60) + 60, uptime: last.uptime + 60)
    expect(later.isOver(50, since: .min), is: (last.now < .max - 60))
  }

  @Test func `another start of the machine shows that it may have been off, however long it is on`() throws {
    let last = TransferStore.StoreTime(1_000_000, uptime: 100, boot: [1])
    let ends = [[1], [2], []].map {
      TransferStore.StoreTime.next(after: last, now: 1_500_000, uptime: 400, boot: $0).begin
    }
    expect(ends, is: [1_500_000, .min, 1_500_000])
  }

  @Test func `the store remembers the clock, and deletes nothing at a first look`() throws {
    let place = scratch.at("destination")
    var remembered = try receiving(1 << 112, into: place)
    remembered.lastSeen = 100
    try store.leave(remembered)
    for _ in 1...2 { expect(try store.expire(Keeping(longest: 1000), at: place, at: store.time()), is: []) }
    // As if the last look had been made before the clock was set.
    let clock = TransferStore.StoreTime(100, uptime: 1).encoded
    scratch.write("home/clock", Data(clock))
    expect(try store.expire(Keeping(longest: 1000), at: place, at: store.time()), is: [])
    // As if that were long ago.
    let uptime = Int64(BootInstant.now().seconds)
    let steady = TransferStore.StoreTime(Timestamp.coarseNow().seconds, uptime: uptime).encoded
    scratch.write("home/clock", Data(steady))
    expect(try store.expire(Keeping(longest: 1000), at: place, at: store.time()).count, is: 1)
  }

  @Test func `as many names as a session may have are remembered`() throws {
    var remembered = try receiving(2, into: [0x2F], done: 77)
    remembered.parts[0].notStored = try refusals(Limits.notStored + 9, long: 200).nameable
    expect(remembered.parts[0].notStored.count, is: Limits.notStored)
    expect(remembered.encoded.count < TransferRecord.sizeLimit)
    expect(try TransferRecord(encoded: remembered.encoded), is: remembered)
  }

  /// A record as version 2 wrote it, without the plan.
  private func older(_ remembered: TransferRecord) throws -> [UInt8] {
    let encoded = remembered.encoded
    let fields = try Fields(encoded.span, 16..<encoded.count - 16, of: "a record").unknown(besides: [13])
    var writer = ByteWriter()
    writer.array(Array("peer transfer 2\n".utf8))
    fields.write(to: &writer)
    var hash = SipHash(key: 0)
    hash.combine(writer.bytes)
    writer.u128(hash.finish())
    return writer.bytes
  }

  @Test func `a transfer that an older peer began is named, never continued, and forgotten with its data`() throws {
    let (sent, received, done): (TransferID, TransferID, TransferID) = (0x1111 << 112, 0x2222 << 112, 0x3333 << 112)
    let destination = scratch.at("destination")
    scratch.write("destination/mine", Data("mine".utf8))
    for remembered in [
      try sending(sent), try receiving(received, into: destination), try receiving(done, into: destination, done: 77),
    ] {
      try store.leave(remembered)
      let end = remembered.role == .sender ? "send" : "receive"
      scratch.write("home/transfers/\(remembered.transfer.hexadecimal)-\(end)/state", Data(try older(remembered)))
    }
    let begun = try receiving(received, into: destination)
    _ = try StagingArea(at: destination).stage(
      try #require(begun.offer(ofPart: 0)),
      on: TransferTerms(transfer: received, keys: try #require(begun.parts[0].begun).keys, existing: .refuse))
    try store.purge(at: TransferStore.StoreTime(1 << 40))
    let listing = try store.list()
    expect(listing.transfers.isEmpty && listing.damaged.map(\.identifier) == [sent, received].map(\.hexadecimal))
    expect(listing.damaged.allSatisfy { $0.reason.contains("an older peer began it") })
    expect(try store.unfinishedSends(of: [Array("/a".utf8), Array("/b".utf8)]).isEmpty)
    #expect(throws: Failure.self) { try store.open(sent, role: .sender) }
    expect(try store.forget("2222").notice == nil)
    expect(try store.forget("1111").notice == nil)
    expect(try store.list().damaged.isEmpty && scratch.names("destination") == ["mine"])
  }

  @Test func `a state that is cut or changed anywhere is refused`() throws {
    let bytes = try receiving(2, into: Array("/d".utf8), done: 5).encoded
    for count in 0..<bytes.count {
      #expect(throws: Violation.self) { try TransferRecord(encoded: Array(bytes[..<count])) }
    }
    for index in bytes.indices {
      var changed = bytes
      changed[index] ^= 1 << UInt8(index % 8)
      #expect(throws: Violation.self) { try TransferRecord(encoded: changed) }
    }
  }

  @Test func `nothing is made before there is something to keep, and then for its owner alone`() throws {
    expect(try store.list().transfers.isEmpty)
    expect(scratch.names().isEmpty)
    let entry = try store.create(try sending(1))
    for path in ["home", "home/transfers", "home/transfers/\(TransferID(1).hexadecimal)-send"] {
      var status = stat()
      expect(stat(scratch.path + "/" + path, &status) == 0 && status.st_mode & 0o777 == 0o700)
    }
    try entry.remove()
    expect(try store.list().transfers.isEmpty)
  }

  @Test func `newest first, and found by what they are about`() throws {
    let entries = [try store.create(try sending(1)), try store.create(try sending(2, ["/c"]))]
    let third = try store.create(try receiving(3, into: Array("/d".utf8)))
    expect(try store.list().transfers.map(\.remembered.transfer), is: [2, 1, 3])
    expect(try store.unfinishedSends(of: [Array("/c".utf8)]).map(\.remembered.transfer), is: [2])
    expect(try store.unfinishedSends(of: [Array("/a".utf8)]).isEmpty)
    expect(try store.remembered(at: Array("/d".utf8)).map(\.remembered.transfer), is: [3])
    try third.update { $0.held = Tally(items: 9, bytes: 9) }
    expect(try store.list().transfers.last?.remembered.held.items, is: 9)
    for count in 1...2 as ClosedRange<UInt64> {
      try third.update { $0.parts[0].unsent = count }
      expect(try store.list().transfers.last?.remembered.parts, is: third.remembered.parts)
    }
    _ = entries
  }

  @Test func `a record in use is listed as such, taken by no other process, and not forgotten`() throws {
    var entry: LockedTransferRecord? = try store.create(try sending(0xABCD << 112))
    expect(try store.list().transfers.map(\.isInUse), is: [true])
    let busy = #expect(throws: Failure.self) { try store.open(0xABCD << 112, role: .sender) }
    expect(busy?.kind, is: .refused)
    expect(busy?.message.contains("process (\(getpid()))"), is: true)
    let failure = #expect(throws: Failure.self) { try store.forget("abcd") }
    expect(failure?.kind, is: .refused)
    entry = nil
    _ = entry
    expect(try store.list().transfers.map(\.isInUse), is: [false])
    expect(try store.open(0xABCD << 112, role: .sender)?.remembered.transfer, is: 0xABCD << 112)
    expect(try store.open(0xABCD << 112, role: .receiver) == nil)
  }

  @Test func `one that another process looks at for a moment is taken behind it`() throws {
    let held = Handover(try store.create(try sending(1)))
    let other = try RunningThread("another process") {
      var poller = try Poller()
      var nothing: [Poller.Interest] = []
      _ = try poller.wait(&nothing, until: .now() + .milliseconds(100))
      _ = held.take()
    }
    expect(try store.open(1, role: .sender)?.remembered.transfer, is: 1)
    try other.value()
  }

  @Test func `a damaged record is listed, blocks no other transfer, and can be forgotten`() throws {
    let (spoilt, whole): (TransferID, TransferID) = (0x1111 << 112, 0x2222 << 112)
    try store.leave(try receiving(spoilt, into: Array("/nowhere".utf8)))
    _ = try store.create(try sending(whole))
    let state = "home/transfers/\(spoilt.hexadecimal)-receive/state"
    scratch.write(state, Data("peer transfer 3\nnonsense".utf8))
    let listing = try store.list()
    expect(listing.transfers.map(\.remembered.transfer), is: [whole])
    expect(listing.damaged.map(\.identifier), is: [spoilt.hexadecimal])
    try store.purge(at: TransferStore.StoreTime(1 << 40))
    expect(try store.list().damaged.count, is: 1)
    let forgotten = try store.forget("1111")
    expect(forgotten.transfer == spoilt && forgotten.notice?.contains(".peer-1111") == true)
    expect(try store.list().damaged.isEmpty)
  }

  /// Stages a part, and lets a receiver of the store have been there.
  private func stage(_ remembered: TransferRecord) throws {
    let area = try StagingArea(at: try #require(remembered.destination))
    let known = try #require(remembered.offer(ofPart: 0))
    _ = try area.stage(
      known, on: TransferTerms(transfer: remembered.transfer, keys: TransferKeys(hashKey: 6), existing: .refuse))
    _ = try store.lock(try area.status(), at: try area.place())
  }

  @Test func `data without a record is found where this store has received, and can be forgotten`() throws {
    let (known, lost): (TransferID, TransferID) = (0x1111 << 112, 0x2222 << 112)
    let destination = scratch.at("destination")
    scratch.write("destination/mine", Data("mine".utf8))
    for transfer in [known, lost] { try stage(try receiving(transfer, into: destination)) }
    try store.leave(try receiving(known, into: destination))
    let found = try store.listEverything().leftovers
    expect(found.map(\.identifier) == [lost] && found.map(\.destination) == [destination])
    expect(try store.forget("2222"), is: TransferStore.Forgotten(transfer: lost))
    expect(try store.listEverything().leftovers.isEmpty)
    expect(scratch.names("destination"), is: [".peer-\(known.hexadecimal)", "mine"])
    let gone = #expect(throws: Failure.self) { try store.forget("2222") }
    expect(gone?.kind, is: .usage)
  }

  @Test func `data of a damaged record goes with it, unless a receiver is at work there`() throws {
    let spoilt: TransferID = 0x1111 << 112
    let destination = scratch.at("destination")
    let remembered = try receiving(spoilt, into: destination)
    try stage(remembered)
    try store.leave(remembered)
    scratch.write("home/transfers/\(spoilt.hexadecimal)-receive/state", Data("peer transfer 3\nnonsense".utf8))
    let listing = try store.listEverything()
    expect(listing.leftovers.isEmpty && listing.damaged.map(\.role) == [.receiver])
    expect(listing.damaged.map(\.reason), is: ["its file on this device is damaged"])
    let hold = try store.lock(
      try Directory.open(destination).status(), at: destination)
    let busy = #expect(throws: Failure.self) { try store.forget("1111") }
    expect(busy?.kind == .refused && scratch.names("destination").count == 1)
    for lock in hold { lock.letGo() }
    expect(try store.forget("1111").notice == nil && scratch.names("destination").isEmpty)
  }

  @Test func `a receiver of this user keeps that of another store away from its directory`() throws {
    let destination = scratch.at("destination")
    try scratch.directory.makeDirectory("destination")
    let status = try Directory.open(destination).status()
    let hold = try store.lock(status, at: destination)
    let other = TransferStore(home: scratch.at("other home"))
    expect(#expect(throws: Failure.self) { try other.lock(status, at: destination) }?.code, is: .inUse)
    for lock in hold { lock.letGo() }
    #expect(throws: Never.self) { try other.lock(status, at: destination) }
  }

  @Test func `what is older than a moment is forgotten, and what a process works on stays`() throws {
    let destination = scratch.at("destination")
    scratch.write("destination/mine", Data("mine".utf8))
    for transfer: TransferID in [0x1111 << 112, 0x2222 << 112] { try stage(try receiving(transfer, into: destination)) }
    try store.leave(try receiving(0x1111 << 112, into: destination))
    try store.leave(try sending(500))
    let used = try store.create(try sending(1))
    // The record was seen at 2. The data without one may be that of another store.
    let begin = TransferStore.StoreTime.next(after: nil, now: 1 << 40, uptime: 5)
    expect(try store.forget(olderThan: 1, at: begin), is: [], "the clock has been set")
    expect(try store.forget(olderThan: 10, at: TransferStore.StoreTime(13)).map(\.transfer), is: [0x1111 << 112])
    expect(try store.forget(olderThan: 10, at: TransferStore.StoreTime(1 << 40)).map(\.transfer), is: [500])
    expect(scratch.names("destination"), is: [".peer-\((TransferID(0x2222) << 112).hexadecimal)", "mine"])
    expect(used.remembered.transfer, is: 1)
    expect(try store.list().transfers.count, is: 1)
  }

  @Test func `a record of a newer peer is named as such`() throws {
    try store.leave(try sending(0x1111 << 112))
    let state = "home/transfers/\((TransferID(0x1111) << 112).hexadecimal)-send/state"
    scratch.write(state, Data("peer transfer 4\nx".utf8))
    expect(try store.list().damaged.first?.reason.hasPrefix("a newer peer wrote its file"), is: true)
  }

  @Test func `forgetting removes only the staged data of the transfer`() throws {
    let identifier: TransferID = 0xFEDC << 112
    let destination = scratch.at("destination")
    scratch.write("destination/mine", Data("mine".utf8))
    let remembered = try receiving(identifier, into: destination)
    let known = try #require(remembered.offer(ofPart: 0))
    let area = try StagingArea(at: destination)
    for _ in 1...2 {
      _ = try area.stage(
        known, on: TransferTerms(transfer: identifier, keys: TransferKeys(hashKey: 6), existing: .refuse))
    }
    scratch.write("destination/.peer-\(TransferID(1).hexadecimal)/tree/x", Data("x".utf8))
    _ = try store.create(remembered)
    _ = try store.create(try sending(identifier))
    expect(try store.forget("fedc"), is: TransferStore.Forgotten(transfer: identifier, notice: nil))
    let left = try FileManager.default.contentsOfDirectory(atPath: scratch.path + "/destination").sorted()
    expect(left, is: [".peer-\(TransferID(1).hexadecimal)", "mine"])
    expect(try store.list().transfers.isEmpty)
  }

  @Test func `digits that name none, or more than one, are refused`() throws {
    _ = try store.create(try sending(0xAAAA_1 << 108))
    _ = try store.create(try sending(0xAAAA_2 << 108))
    for digits in ["bbbb", "aaaa"] {
      let failure = #expect(throws: Failure.self) { try store.forget(digits) }
      expect(failure?.kind, is: .usage)
    }
    expect(try store.forget("aaaa1").transfer, is: 0xAAAA_1 << 108)
    expect(try store.list().transfers.count, is: 1)
  }

  @Test func `a tombstone is kept for a week`() throws {
    try store.leave(try receiving(1, into: Array("/d".utf8), done: 1_000_000))
    try store.leave(try receiving(2, into: Array("/d".utf8)))
    try store.purge(at: TransferStore.StoreTime(1_000_000 + 7 * 86_400))
    expect(try store.list().transfers.count, is: 2)
    try store.purge(at: TransferStore.StoreTime(1_000_001 + 7 * 86_400))
    expect(try store.list().transfers.map(\.remembered.transfer), is: [2])
  }
}

extension TransferStore {
  /// Creates a record that no process holds. A program that another test is just starting inherits its
  /// lock, until it runs.
  func leave(_ remembered: TransferRecord) throws {
    _ = try create(remembered)
    let deadline = soon()
    while try list().transfers.contains(where: { $0.remembered.transfer == remembered.transfer && $0.isInUse }) {
      guard BootInstant.now() < deadline else { throw TookTooLong("a free entry") }
    }
  }
}

@Suite struct BackoffTests {
  @Test func `the pauses grow, stay within ten seconds, and end with the patience`() {
    var backoff = Backoff(now: 100, patience: 60)
    var (now, pauses) = (100.0, [Double]())
    while let pause = backoff.next(now: now, spread: 0) {
      pauses.append(pause)
      now += pause
    }
    expect(Array(pauses.prefix(8)), is: [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10])
    expect(pauses.max(), is: 10)
    expect(abs(now - 160) < 0.001)
  }

  @Test func `some come a little earlier than others, and without patience none come`() {
    var backoff = Backoff(now: 0, patience: 10)
    expect(backoff.next(now: 0, spread: 1), is: 0.1 * 0.75)
    var none = Backoff(now: 0, patience: 0)
    expect(none.next(now: 0, spread: 0) == nil)
  }
}

@Suite struct StallWatchTests {
  /// The watch's verdict at several times, each with the amount that was taken by then.
  private func answers(
    patience: Double = 30, attempts: Int = 0, _ looks: [(taken: UInt64, isIdle: Bool, now: Double)]
  ) -> [Bool] {
    var watch = StallWatch(now: 0, patience: patience, attempts: attempts)
    return looks.map { look in
      let trace = StallWatch.Trace(underWay: 1, taken: look.taken, waiting: 0)
      return watch.isStalled(trace, isIdle: look.isIdle, now: look.now)
    }
  }

  @Test func `every movement starts the time anew, and an idle stream is never stalled`() {
    let looks =
      [
        (1, false, 10), (1, false, 39), (2, false, 39.5), (2, true, 100), (2, false, 129), (2, false, 130),
      ] as [(UInt64, Bool, Double)]
    expect(answers(looks), is: [false, false, false, false, false, true])
  }

  @Test(arguments: [(0, 30.0), (1, 60), (4, 480), (5, 600), (99, 600)])
  func `each time that it was in vain the patience doubles, up to ten minutes`(attempts: Int, patience: Double) {
    let looks = [(1, false, 0), (1, false, patience - 1), (1, false, patience)] as [(UInt64, Bool, Double)]
    expect(answers(attempts: attempts, looks), is: [false, false, true])
  }
}
