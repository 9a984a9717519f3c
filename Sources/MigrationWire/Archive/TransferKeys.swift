/// Names a transfer for its whole life.
package typealias TransferID = UInt128
/// Names one session of a transfer.
package typealias SessionID = UInt128

/// The secrets of one transfer that both ends hold, and the values that they compute under them.
package struct TransferKeys: Equatable, Sendable {
  /// The AES-128 key of the chunk tags.
  package let tagKey: UInt128
  /// The SipHash key of marks and generations.
  package let hashKey: UInt128

  package init(tagKey: UInt128, hashKey: UInt128) {
    self.tagKey = tagKey
    self.hashKey = hashKey
  }

  /// The mark of an item that is held in staging (Protocol §9.2, kind 1).
  package func mark(path: ArchivePath, generation: Generation) -> Mark {
    var hash = SipHash(key: hashKey)
    hash.combine(1 as UInt8)
    hash.combine(generation)
    hash.combine(path.bytes)
    return hash.finish()
  }

  /// The mark of a file that is at the destination already (Protocol §9.2, kind 2).
  package func presentMark(path: ArchivePath, size: UInt64, modified: ItemTime) -> Mark {
    var hash = SipHash(key: hashKey)
    hash.combine(2 as UInt8)
    hash.combine(size)
    hash.combine(modified.seconds)
    hash.combine(modified.nanoseconds)
    hash.combine(path.bytes)
    return hash.finish()
  }

  /// The mark of a symbolic link that is at the destination already (Protocol §9.2, kind 2).
  package func presentMark(path: ArchivePath, target: [UInt8]) -> Mark {
    var hash = SipHash(key: hashKey)
    hash.combine(5 as UInt8)
    hash.combine(UInt64(target.count))
    hash.combine(target)
    hash.combine(path.bytes)
    return hash.finish()
  }

  /// The mark of a name that is taken at the destination (Protocol §9.2, kind 3).
  package func takenMark(path: ArchivePath) -> Mark {
    var hash = SipHash(key: hashKey)
    hash.combine(6 as UInt8)
    hash.combine(path.bytes)
    return hash.finish()
  }

  /// The generation of a source item (Protocol §9.1).
  package func generation(of fingerprint: SourceFingerprint) -> Generation {
    var hash = SipHash(key: hashKey)
    hash.combine(3 as UInt8)
    hash.combine(fingerprint.fileSystem)
    hash.combine(fingerprint.inode)
    hash.combine(fingerprint.size)
    for time in [fingerprint.modified, fingerprint.changed] {
      hash.combine(time.seconds)
      hash.combine(time.nanoseconds)
    }
    return hash.finish()
  }

  /// The generation of a hard link (Protocol §9.1). It is never that of a file, which the same name
  /// may have been before.
  package func generation(ofLinkTo target: ArchivePath, _ generation: Generation) -> Generation {
    var hash = SipHash(key: hashKey)
    hash.combine(4 as UInt8)
    hash.combine(generation)
    hash.combine(target.bytes)
    return hash.finish()
  }

  /// The key under which the receiver authenticates its journal.
  package var journalKey: UInt128 {
    var hash = SipHash(key: hashKey)
    hash.combine(Array("peer-journal-v1".utf8))
    return hash.finish()
  }
}

/// The kernel's description of one state of a source item, without a look at its content.
package struct SourceFingerprint: Equatable, Sendable {
  package let fileSystem: UInt64
  package let inode: UInt64
  package let size: UInt64
  package let modified: ItemTime
  package let changed: ItemTime

  package init(fileSystem: UInt64, inode: UInt64, size: UInt64, modified: ItemTime, changed: ItemTime) {
    self.fileSystem = fileSystem
    self.inode = inode
    self.size = size
    self.modified = modified
    self.changed = changed
  }
}
