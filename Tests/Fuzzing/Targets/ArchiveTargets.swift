import MigrationArchive
import MigrationWire

@testable import MigrationTransfer

extension FuzzTarget {
  /// Names and files of the archive.
  static let archive = [
    FuzzTarget("paths", "paths, and names that are shown", longest: 300) { checkPath(Array($0)) },
    FuzzTarget("journal", "records of the journal", longest: 512) { JournalCheck.records($0) },
    FuzzTarget("recovery", "the recovery of staged data from a journal", longest: 128) { JournalCheck.recovery($0) },
    FuzzTarget("ledger", "the ledger of what a receiver holds", longest: 128) { input in
      var walk = LedgerWalk(input)
      walk.run()
    },
    FuzzTarget("transfers", "remembered transfers", longest: 512) { checkRemembered(Array($0)) },
    FuzzTarget("patterns", "exclusion patterns", longest: 160) { checkPatterns($0) },
  ]
}

/// A path has exactly the given bytes, and its parts put together are the path. Any bytes that are
/// shown have nothing unsafe in them.
private func checkPath(_ bytes: [UInt8]) {
  for shown in [VisibleText.of(bytes), VisibleText.quoted(bytes), VisibleText.listed(bytes)] {
    promise(!shown.unicodeScalars.contains(where: VisibleText.isUnsafe), "something unsafe is shown")
    promise(shown.utf8.count <= 12 * bytes.count + 4, "what is shown is too long")
  }
  guard let path = read({ try ArchivePath(bytes) }) else { return }
  promise(path.bytes == bytes, "a path has other bytes")
  promise(path.depth == path.components.count && path.depth <= Limits.depth, "a path has another depth")
  promise(path.components.joined(separator: [UInt8(ascii: "/")]).elementsEqual(bytes), "the parts are another path")
  promise(path.components.first == path.root && path.components.last == path.name, "a path has other parts")
  promise(
    path.components.allSatisfy { !$0.isEmpty && $0.count <= Limits.component && !$0.contains(0) }, "a name is bad")
  if let parent = path.parent {
    let again = read { try parent.appending(path.name.span) }
    promise(again == path, "a parent with the name is another path")
  } else {
    promise(path.depth == 1, "a path has no parent")
  }
}

/// The file of a remembered transfer with any fields and the right checksum, and as it is. Several
/// files mean the same transfer: one that can be read is written in one form, which means it too.
private func checkRemembered(_ bytes: [UInt8]) {
  let magic = Array("peer transfer 1\n".utf8)
  var writer = ByteWriter()
  writer.array(magic + bytes)
  var hash = SipHash(key: 0)
  hash.combine(writer.bytes)
  writer.u128(hash.finish())
  for file in [writer.bytes, bytes] {
    guard let transfer = read({ try RememberedTransfer(encoded: file) }) else { continue }
    let encoded = transfer.encoded
    guard let again = read({ try RememberedTransfer(encoded: encoded) }) else {
      fatalError("a written transfer cannot be read")
    }
    promise(again == transfer, "a written transfer is another one")
    promise(again.encoded == encoded, "a transfer is written differently the second time")
    promise(encoded.count <= 2 * file.count + 512, "a transfer takes more bytes than it was read from")
  }
}
