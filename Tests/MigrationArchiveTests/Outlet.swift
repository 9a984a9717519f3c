import Glibc
import MigrationArchive
import MigrationSystem
import MigrationWire
import Synchronization

/// A keyed hash over place and data, in the place of GMAC.
final class HashSealer: ChunkSealing {
  private let key: UInt64
  private var nonce: UInt32 = 0

  init(key: UInt64 = 0x1234_5678_9ABC_DEF1) { self.key = key }

  func seal(place: [UInt8], data: RawSpan) -> ChunkSeal {
    nonce += 1
    return ChunkSeal(nonceHigh: key, nonceLow: nonce, tag: tag(nonce, place, data))
  }

  func verify(_ seal: ChunkSeal, place: [UInt8], data: RawSpan) -> Bool {
    seal.tag == tag(seal.nonceLow, place, data)
  }

  private func tag(_ nonce: UInt32, _ place: [UInt8], _ data: RawSpan) -> UInt128 {
    var hash = SipHash(key: UInt128(key))
    hash.combine(nonce)
    hash.combine(place)
    hash.combine(UInt64(data.byteCount))
    hash.combine(data.withUnsafeBytes { Self.folded($0, key) })
    return hash.finish()
  }

  private static func folded(_ bytes: UnsafeRawBufferPointer, _ key: UInt64) -> UInt64 {
    var hash = key
    var offset = 0
    while offset < bytes.count {
      var word: UInt64 = 0
      if offset + 8 <= bytes.count {
        word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      } else {
        for index in offset..<bytes.count { word = word << 8 | UInt64(bytes[index]) }
      }
      hash = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
      hash ^= hash >> 29
      offset += 8
    }
    return hash
  }
}

/// Keeps what an export submits, and lets a test interfere at every call.
final class Outlet: FrameOutlet {
  enum Event: Equatable, Sendable {
    case submitted(Int)
    case drained
  }

  struct State: Sendable {
    var frames: [[UInt8]] = []
    var events: [Event] = []
    var unsent: [Unsent] = []
    var skipped = Tally()
    var counted = Tally()
    var buffers = 0
    var isStopped = false
  }

  private let state = Mutex(State())
  /// Called with the number of the call, from 1 on, before a buffer is given out.
  private let whenBuffer: @Sendable (Int) -> Void

  init(whenBuffer: @escaping @Sendable (Int) -> Void = { _ in }) { self.whenBuffer = whenBuffer }

  var frames: [[UInt8]] { state.withLock { $0.frames } }
  var events: [Event] { state.withLock { $0.events } }
  var unsent: [Unsent] { state.withLock { $0.unsent } }
  var skipped: Tally { state.withLock { $0.skipped } }
  /// What the frames said that they bring.
  var counted: Tally { state.withLock { $0.counted } }

  var isStopped: Bool { state.withLock { $0.isStopped } }
  func stop() { state.withLock { $0.isStopped = true } }

  func buffer() throws(ArchiveError) -> FrameBuffer {
    let number = state.withLock { state in
      state.buffers += 1
      return state.buffers
    }
    whenBuffer(number)
    if state.withLock({ $0.isStopped }) { throw ArchiveError(.stopped, "the transfer is over") }
    return FrameBuffer(capacity: Limits.plainLength)
  }

  func submit(_ frame: consuming FrameBuffer) throws(ArchiveError) {
    let frame = frame
    state.withLock { state in
      state.events.append(.submitted(state.frames.count))
      state.frames.append(Array(frame.bytes[..<frame.count]))
      state.counted.items += frame.items
      state.counted.bytes += frame.contentBytes
    }
  }

  func drain() throws(ArchiveError) { state.withLock { $0.events.append(.drained) } }

  /// Lets the file system's clock move on; longer pauses are for sources that these tests change themselves.
  func pause(seconds: Double) throws(ArchiveError) { usleep(UInt32(min(seconds, 0.03) * 1e6)) }

  func unsent(_ unsent: Unsent) throws(ArchiveError) { state.withLock { $0.unsent.append(unsent) } }

  func skipped(items: UInt64, bytes: UInt64) {
    state.withLock { state in
      state.skipped.items += items
      state.skipped.bytes += bytes
    }
  }
}

let testKeys = TransferKeys(tagKey: 0x40, hashKey: 0x5051_5253)

/// One export of some sources, with everything that it said.
struct Export {
  let source: FolderSource
  let summary: SourceSummary
  let outlet: Outlet
  let packer: FramePacker

  init(
    _ paths: [[UInt8]], selecting selection: Selection = Selection(), held: HeldItems = HeldItems(),
    outlet: Outlet = Outlet(), sizes: FramePacker.Sizes = .init(),
    betweenWalkAndExport change: () -> Void = {}
  ) throws {
    source = try FolderSource(paths: paths, selecting: selection)
    summary = try source.prepare { false }
    change()
    self.outlet = outlet
    packer = FramePacker(outlet: outlet, sealer: HashSealer(), keys: testKeys, held: held, sizes: sizes)
    try source.export(to: packer, for: nil)
  }

  var offer: Offer {
    Offer(
      transfer: nil, contents: summary.contents, items: summary.total.items, bytes: summary.total.bytes,
      allocated: summary.allocated, flags: summary.flags)
  }

  /// Every entry in the order in which it was submitted.
  var entries: [Entry] { get throws { try outlet.frames.flatMap(entriesOf) } }
}

func entriesOf(_ frame: [UInt8]) throws -> [Entry] {
  var reader = EntryReader(0..<frame.count)
  var entries: [Entry] = []
  while let entry = try reader.next(frame.span) { entries.append(entry) }
  return entries
}

extension Entry {
  var path: ArchivePath {
    switch self {
    case .item(let record, content: _): record.path
    case .chunk(let place, _, data: _), .hole(let place, _): place.path
    }
  }

  var generation: Generation {
    switch self {
    case .item(let record, content: _): record.generation
    case .chunk(let place, _, data: _), .hole(let place, _): place.generation
    }
  }

  var record: ItemRecord? {
    if case .item(let record, content: _) = self { record } else { nil }
  }

  var text: String { String(decoding: path.bytes, as: UTF8.self) }
}
