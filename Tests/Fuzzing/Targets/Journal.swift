import FuzzDriver
import MigrationSystem
import MigrationWire
import TestSupport

@testable import MigrationArchive

/// Journals with any records: each part of the input is the body of a record, which gets the right
/// authentication code, as if the program had written it. Records of a journal have bytes that say
/// the same (a truth value that is neither 0 nor 1), so they are compared as values.
enum JournalCheck {
  private static let keys = TransferKeys(hashKey: 2)
  private static let transfer: TransferID = 42
  private static let offer = Offer(
    contents: .folders([Root(kind: .directory, name: Array("root".utf8))]), items: 10, bytes: 1000, allocated: 4096)

  /// Appends a record of this kind with this body, sealed for its position.
  private static func append(_ kind: UInt8, _ body: [UInt8], to journal: inout [UInt8]) {
    journal += sealedRecord(kind, body, at: UInt64(journal.count), key: keys.journalKey)
  }

  /// The records of an input: a kind, a length and a body each. Kinds from 0x80 on are bytes that
  /// are no record.
  private static func journal(_ bytes: inout InputBytes) -> [UInt8] {
    var journal: [UInt8] = []
    while !bytes.isEmpty {
      let kind = bytes.byte()
      let body = bytes.part()
      if kind < 0x80 { append(kind, body, to: &journal) } else { journal += body }
    }
    return journal
  }

  // MARK: Records

  /// A record that can be read is written as one that reads as equal, and that one is written the
  /// same.
  static func records(_ input: ArraySlice<UInt8>) {
    var bytes = InputBytes(input)
    let journal = journal(&bytes)
    var position = 0
    while let (record, length) = readRecord(journal, position) {
      let written = write(record, position)
      guard let (again, _) = readRecord(written, 0, from: UInt64(position)) else {
        fatalError("a written record cannot be read")
      }
      promise(again == record && write(again, position) == written, "a written record is another one")
      promise(written.count <= length + 8, "a record takes more bytes than it was read from")
      position += length
    }
    promise(readRecord(Array(input), 0) == nil, "bytes without a code are a record")
    let greatest = JournalRecord.greatestSyncMark(journal.span, position: 0, key: keys.journalKey)
    promise(greatest == nil || journal.count >= JournalRecord.syncedLength, "a mark is read that is not there")
  }

  private static func readRecord(_ journal: [UInt8], _ offset: Int, from position: UInt64? = nil) -> (
    JournalRecord, Int
  )? {
    read { () throws(Violation) in
      try JournalRecord.read(
        journal.span.extracting(offset...), position: position ?? UInt64(offset), key: keys.journalKey)
    }
  }

  private static func write(_ record: JournalRecord, _ position: Int) -> [UInt8] {
    var writer = ByteWriter()
    record.write(to: &writer, position: UInt64(position), key: keys.journalKey)
    return writer.bytes
  }

  // MARK: Recovery

  /// A disk with some entries, and a journal that the program might have written, or not. The
  /// recovery fails with an error of its own, or gives a ledger that a second recovery gives too.
  static func recovery(_ input: ArraySlice<UInt8>) {
    var bytes = InputBytes(input)
    let shape = bytes.byte()
    guard let scratch = try? Scratch(), let parent = try? SharedDirectory(Directory.open(scratch.path)),
      let disk = try? DirectoryDisk(making: Staging.name(of: transfer), in: parent)
    else { fatalError("there is no memory for a disk") }
    for _ in 0..<bytes.number(below: 4) { addEntry(&bytes, to: disk) }
    var journal: [UInt8] = []
    if shape & 4 == 0 {
      var opened = ByteWriter()
      opened.array(Array("peer journal 1\n".utf8))
      opened.u128(transfer)
      append(1, opened.bytes, to: &journal)
    }
    while !bytes.isEmpty {
      let kind = bytes.byte()
      let body = bytes.part()
      if kind < 0x80 { append(kind, body, to: &journal) } else { journal += body }
    }
    do { try disk.journal.write(at: 0, journal.span) } catch { fatalError("\(error)") }
    let fate: [Staging.ImportFate] = [.told, .succeeded, .mustBeAsked, .told]
    guard let first = recover(disk, fate[Int(shape >> 3 & 3)]) else { return }
    guard let second = recover(disk, fate[Int(shape >> 3 & 3)]) else {
      fatalError("what was recovered cannot be recovered again")
    }
    promise(first.marks == second.marks, "a second recovery finds other items")
    promise(first.partials == second.partials, "a second recovery finds other pieces")
    promise(
      first.total == second.total && first.refusedTotal == second.refusedTotal, "a second recovery counts differently")
    promise(first.partials.count <= Limits.incompleteFiles, "too many incomplete files are recovered")
  }

  private static func recover(_ disk: DirectoryDisk, _ fate: Staging.ImportFate) -> Ledger? {
    do {
      let staging = try Staging.recover(
        from: disk, for: offer, transfer: transfer, keys: keys, import: fate)
      return staging.shared.withLock { $0.ledger }
    } catch {
      promise(error is Failure, "the recovery fails with \(error)")
      return nil
    }
  }

  private static func addEntry(_ bytes: inout InputBytes, to disk: DirectoryDisk) {
    guard let path = bytes.path() else { return }
    let places = disk.places()
    switch bytes.number(below: 4) {
    case 0: try? places.makeDirectory(path)
    case 1: try? places.makeSymbolicLink(path, target: [0x61])
    default:
      guard let file = try? places.createFile(path, mode: 0o600) else { return }
      let content = bytes.take(bytes.number(below: 32))
      try? file.write(at: 0, content.span)
    }
  }
}
