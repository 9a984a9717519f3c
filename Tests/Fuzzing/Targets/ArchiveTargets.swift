import FuzzDriver
import MigrationArchive
import MigrationWire

@testable import MigrationTransfer

extension FuzzTarget {
  /// Files of the archive.
  static let archive = [
    FuzzTarget("journal", "records of the journal", longest: 512) { JournalCheck.records($0) },
    // Four recoveries, and a removal, list each directory that the journal names some four times in all, each
    // time through 32 KiB that are given back at once; 96 bytes name up to nineteen.
    FuzzTarget("recovery", "the recovery of staged data from a journal", longest: 96, memory: 3072) {
      JournalCheck.recovery($0)
    },
    FuzzTarget("ledger", "the ledger of what a receiver holds", longest: 128) { input in
      var walk = LedgerWalk(input)
      walk.run()
    },
    FuzzTarget("transfers", "remembered transfers", longest: 512) { checkRemembered(Array($0)) },
    FuzzTarget("patterns", "exclusion patterns", longest: 160) { checkPatterns($0) },
  ]
}

/// The file of a remembered transfer with any fields and the right checksum, and as it is. Several
/// files mean the same transfer: one that can be read is written in one form, which means it too.
private func checkRemembered(_ bytes: [UInt8]) {
  let magic = Array("peer transfer 3\n".utf8)
  var writer = ByteWriter()
  writer.array(magic + bytes)
  var hash = SipHash(key: 0)
  hash.combine(writer.bytes)
  writer.u128(hash.finish())
  for file in [writer.bytes, bytes] {
    guard let transfer = read({ try TransferRecord(encoded: file) }) else { continue }
    let encoded = transfer.encoded
    guard let again = read({ try TransferRecord(encoded: encoded) }) else {
      fatalError("a written transfer cannot be read")
    }
    promise(again == transfer, "a written transfer is another one")
    promise(again.encoded == encoded, "a transfer is written differently the second time")
    promise(encoded.count <= 2 * file.count + 512, "a transfer takes more bytes than it was read from")
  }
}
