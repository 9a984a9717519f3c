/// Names a transfer for its whole life.
package typealias TransferID = UInt128
/// Names one session of a transfer.
package typealias SessionID = UInt128

extension TransferID {
  /// Names one part of the transfer on this device, in its staging and at its import. The first part
  /// has the transfer's own name.
  package func ofPart(_ number: UInt16) -> TransferID {
    guard number > 0 else { return self }
    var hash = SipHash(key: self)
    hash.combine(UInt64(number))
    return hash.finish()
  }
}

/// The secret of one transfer that both ends hold, and the values that they compute under it.
package struct TransferKeys: Equatable, Sendable {
  /// The SipHash key of marks, checks and generations.
  package let hashKey: UInt128

  package init(hashKey: UInt128) { self.hashKey = hashKey }

  /// The mark of an item that is held in staging (Protocol §9.2, kind 1).
  package func mark(path: ArchivePath, generation: Generation) -> Mark { hash(1, path) { $0.combine(generation) } }

  /// The mark of a file that is at the destination already (Protocol §9.2, kind 2).
  package func presentMark(path: ArchivePath, size: UInt64, modified: ItemTime) -> Mark {
    hash(2, path) {
      $0.combine(size)
      $0.combine(modified)
    }
  }

  /// The mark of a symbolic link that is at the destination already (Protocol §9.2, kind 2).
  package func presentMark(path: ArchivePath, target: [UInt8]) -> Mark {
    hash(5, path) {
      $0.combine(UInt64(target.count))
      $0.combine(target)
    }
  }

  /// The mark of a directory that is at the destination already, with what belongs together with it
  /// (Protocol §9.2, kind 2).
  package func presentMark(directory path: ArchivePath, modified: ItemTime) -> Mark {
    hash(8, path) { $0.combine(modified) }
  }

  /// The mark of a file that has arrived, with the time of its last change at the source (Protocol §9.2,
  /// kind 6).
  package func stateMark(path: ArchivePath, size: UInt64, modified: ItemTime, changed: ItemTime) -> Mark {
    hash(9, path) {
      $0.combine(size)
      $0.combine(modified)
      $0.combine(changed)
    }
  }

  /// The mark of a directory that has arrived, with the time of its last change at the source (Protocol
  /// §9.2, kind 6).
  package func stateMark(directory path: ArchivePath, modified: ItemTime, changed: ItemTime) -> Mark {
    hash(12, path) {
      $0.combine(modified)
      $0.combine(changed)
    }
  }

  /// The mark of a file that has arrived, with the sum of its content (Protocol §9.2, kind 7).
  package func contentMark(path: ArchivePath, size: UInt64, sum: [UInt8]) -> Mark {
    contentMark(10, path, size, sum)
  }

  /// The mark of a file that lies where it arrived, untouched (Protocol §9.2, kind 8).
  package func baseMark(path: ArchivePath, size: UInt64, sum: [UInt8]) -> Mark { contentMark(13, path, size, sum) }

  private func contentMark(_ use: UInt8, _ path: ArchivePath, _ size: UInt64, _ sum: [UInt8]) -> Mark {
    hash(use, path) {
      $0.combine(size)
      $0.combine(sum)
    }
  }

  /// The generation of a file's metadata alone (Protocol §9.1).
  package func generation(ofMetadata generation: Generation) -> Generation { hash(11) { $0.combine(generation) } }

  /// The mark of a name that is taken at the destination (Protocol §9.2, kind 3).
  package func takenMark(path: ArchivePath) -> Mark { hash(6, path) }

  /// The check of a chunk whose bytes have these lanes (Protocol §9.3).
  package func check(_ place: FilePiece, lanes: (UInt32, UInt32, UInt32)) -> ChunkCheck {
    let hash = hash(7) {
      $0.combine(place.isHole ? Entry.Kind.hole : Entry.Kind.chunk)
      $0.combine(place.range.lowerBound)
      $0.combine(place.range.upperBound - place.range.lowerBound)
      $0.combine(place.generation)
      $0.combine(place.path.bytes)
      $0.combine(lanes.0)
      $0.combine(lanes.1)
      $0.combine(lanes.2)
    }
    return ChunkCheck(hash >> 64)
  }

  /// The generation of a source item (Protocol §9.1).
  package func generation(of fingerprint: SourceFingerprint) -> Generation {
    hash(3) {
      $0.combine(fingerprint.fileSystem)
      $0.combine(fingerprint.inode)
      $0.combine(fingerprint.size)
      $0.combine(fingerprint.modified)
      $0.combine(fingerprint.changed)
    }
  }

  /// The generation of a hard link (Protocol §9.1). It is never that of a file, which the same name
  /// may have been before.
  package func generation(ofLinkTo target: ArchivePath, _ generation: Generation) -> Generation {
    hash(4, target) { $0.combine(generation) }
  }

  /// The hash for one use: of these values, and of a path behind them.
  @inline(__always)
  private func hash(_ use: UInt8, _ path: ArchivePath? = nil, _ combine: (inout SipHash) -> Void = { _ in }) -> UInt128
  {
    var hash = SipHash(key: hashKey)
    hash.combine(use)
    combine(&hash)
    if let path { hash.combine(path.bytes) }
    return hash.finish()
  }

  /// The key under which the receiver authenticates its journal.
  package var journalKey: UInt128 {
    var hash = SipHash(key: hashKey)
    hash.combine(Array("peer-journal-v1".utf8))
    return hash.finish()
  }
}

extension SipHash {
  fileprivate mutating func combine(_ time: ItemTime) {
    combine(time.seconds)
    combine(time.nanoseconds)
  }
}

/// One state of a source item, from its metadata.
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
