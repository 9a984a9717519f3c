internal import MigrationArchive
internal import MigrationHost
internal import MigrationSystem
internal import MigrationWire

/// The destination of a tested export's items, under the rules of a device.
final class TestedDestination: ItemDestination {
  private let archive: ExtractedArchive
  private let reach: AppendableArea
  private let supervision: Supervision

  init(_ archive: ExtractedArchive, reach: AppendableArea, supervision: Supervision) {
    self.archive = archive
    self.reach = reach
    self.supervision = supervision
  }

  func refuseIfCancelled() throws { try supervision.refuseIfCancelled() }

  func open(_ path: [UInt8]) throws(CocoaError) -> AppendableItem { try reach.open(path) }

  func append(_ item: consuming AppendableItem, at path: ArchivePath) throws {
    supervision.begin()
    defer { supervision.end() }
    do {
      try archive.append(item, at: path)
    } catch is CancellationError {
      try supervision.refuseIfCancelled()
      throw CancellationError()
    }
  }
}

/// A staging disk whose contents need not survive a power failure: tests discard their extracted
/// files.
struct UnsyncedDisk: StagingDisk {
  private let disk: DirectoryDisk

  init(_ disk: DirectoryDisk) { self.disk = disk }

  var name: [UInt8] { disk.name }
  var journal: any StagedFile { disk.journal }
  func places() -> any StagingPlaces { disk.places() }
  func synchronize() throws(SystemError) {}
  func space() -> FileSystemSpace? { disk.space() }
}

/// Tags for frames that never leave the process: a keyed hash instead of the transfer's tags, which
/// need OpenSSL.
final class SipSealer: ChunkSealing {
  private let key: UInt128
  private var nonce: UInt32 = 0

  init(key: UInt128) { self.key = key }

  func seal(place: [UInt8], data: Span<UInt8>) -> ChunkSeal {
    nonce &+= 1
    return ChunkSeal(nonceHigh: 0, nonceLow: nonce, tag: tag(nonce, place, data))
  }

  func verify(_ seal: ChunkSeal, place: [UInt8], data: Span<UInt8>) -> Bool {
    seal.tag == tag(seal.nonceLow, place, data)
  }

  func expected(_ seal: ChunkSeal, place: [UInt8], data: Span<UInt8>) -> ChunkSeal {
    ChunkSeal(nonceHigh: seal.nonceHigh, nonceLow: seal.nonceLow, tag: tag(seal.nonceLow, place, data))
  }

  private func tag(_ nonce: UInt32, _ place: [UInt8], _ data: Span<UInt8>) -> UInt128 {
    var hash = SipHash(key: key)
    hash.combine(nonce)
    hash.combine(UInt64(data.count))
    hash.combine(place)
    hash.combine(data)
    return hash.finish()
  }
}
