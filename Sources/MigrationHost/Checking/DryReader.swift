import MigrationArchive
import MigrationSystem
import MigrationWire

/// Reads an export as streams do, counts the data and discards it.
final class DryReader: ExportListener, Sendable {
  private struct State: Sendable {
    var roots = DryExport.Roots()
    var unsent = DryExport.Some<Unsent>()
    /// Whether there is news since the last look.
    var isNew = false
    var isOver = false
  }

  let stopSignal: StopSignal
  private let state = Condition(State())
  /// The pause between two looks if no time is known.
  private static let interval = Duration.milliseconds(50)

  init(until stop: StopSignal) { stopSignal = stop }

  var roots: DryExport.Roots { state.withLock { $0.roots } }
  var unsent: DryExport.Some<Unsent> { state.withLock { $0.unsent } }

  /// The settings of the export. Any keys will do: the tagged data is discarded.
  var settings: ExportSettings {
    ExportSettings(listener: self, keys: TransferKeys(tagKey: 0, hashKey: 0), held: HeldItems(), readers: 1) {
      NoSealing()
    }
  }

  /// Reads until `end` is called.
  func read(_ source: any FrameSource) {
    var number: UInt64 = 0
    var frame = FrameBuffer(capacity: ArchiveSizes().frameCapacity)
    while !state.withLock({ $0.isOver }) {
      frame.removeAll()
      number += 1
      frame.number = number
      // All data that was read counts as written.
      switch source.fill(&frame, written: number) {
      case .full: note(frame)
      case .nothing(let moment): pause(until: moment)
      }
    }
  }

  /// Ends the reading.
  func end() {
    state.withLock { $0.isOver = true }
    state.broadcast()
  }

  func unsent(_ unsent: Unsent) { state.withLock { $0.unsent.note(unsent) } }

  func skipped(items: UInt64, bytes: UInt64) {}

  func workAdded() {
    state.withLock { $0.isNew = true }
    state.broadcast()
  }

  private func pause(until moment: Double?) {
    let soon = BootInstant.now().advanced(by: Self.interval)
    let deadline = moment.map { min(soon, BootInstant(seconds: $0)) } ?? soon
    _ = state.wait(until: deadline) { state -> Bool? in
      guard state.isNew || state.isOver else { return nil }
      state.isNew = false
      return true
    }
  }

  private func note(_ frame: FrameBuffer) {
    var reader = EntryReader(0..<frame.count)
    state.withLock { state in
      // This program wrote the entries itself, so they can be read.
      while let entry = try? reader.next(frame.bytes.span) {
        if case .item(let record, _) = entry { state.roots.note(record) }
      }
    }
  }
}

/// Tags that are never checked.
private final class NoSealing: ChunkSealing {
  func seal(place: [UInt8], data: Span<UInt8>) -> ChunkSeal { ChunkSeal(nonceHigh: 0, nonceLow: 0, tag: 0) }
  func verify(_ seal: ChunkSeal, place: [UInt8], data: Span<UInt8>) -> Bool { true }
  func expected(_ seal: ChunkSeal, place: [UInt8], data: Span<UInt8>) -> ChunkSeal { seal }
}
