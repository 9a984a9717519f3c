import Glibc
package import MigrationArchive
package import MigrationSystem
package import MigrationWire

/// Reads an export frame by frame, keeps the frames, and lets a test act before each of them.
package final class Outlet: ExportListener {
  /// The events of frames, in order.
  package enum Event: Equatable, Sendable {
    case submitted(Int)
    case drained
  }

  private struct State: Sendable {
    var frames: [[UInt8]] = []
    var events: [Event] = []
    var unsent: [NotStored] = []
    var skipped = Tally()
    var counted = Tally()
    /// The number of frames begun, and the number below which all are written.
    var begun: UInt64 = 0
    var written: UInt64 = 0
    /// The export's clock.
    var now = BootInstant.now().seconds
  }

  private let state = Mutex(State())
  private let whenBuffer: @Sendable (Int) -> Void
  private let whenAsked: @Sendable (Int) -> Void
  private let signal = StopSignal()

  /// - Parameters:
  ///   - whenBuffer: called with the number of the frame, from 1 on, before it is filled.
  ///   - whenAsked: called with the number of submitted frames, before the outlet answers whether
  ///     the export is to stop.
  package init(
    whenBuffer: @escaping @Sendable (Int) -> Void = { _ in }, whenAsked: @escaping @Sendable (Int) -> Void = { _ in }
  ) {
    self.whenBuffer = whenBuffer
    self.whenAsked = whenAsked
  }

  /// The frames in the order of submission.
  package var frames: [[UInt8]] { state.withLock { $0.frames } }
  /// The events.
  package var events: [Event] { state.withLock { $0.events } }
  /// The items that the export could not send.
  package var unsent: [NotStored] { state.withLock { $0.unsent } }
  /// The total of the items that the other end already has.
  package var skipped: Tally { state.withLock { $0.skipped } }
  /// The total that the frames declared.
  package var counted: Tally { state.withLock { $0.counted } }

  /// The time, which advances only while this waits: reading takes no time, even on a slow machine.
  package var now: Double { state.withLock { $0.now } }

  package var stopSignal: StopSignal {
    whenAsked(state.withLock { $0.frames.count })
    return signal
  }

  /// Ends the export.
  package func stop() { signal.set() }

  /// Reads on this thread until the source has been read.
  package func read(_ source: any FrameSource) { read(source) { source.isRead } }

  /// Reads on this thread until `isOver`.
  package func read(_ source: any FrameSource, until isOver: () -> Bool) {
    while !isOver(), !signal.isSet {
      var frame = FrameBuffer(capacity: 300 << 10)
      let (number, written) = state.withLock { state in
        state.begun += 1
        return (state.begun, state.written)
      }
      frame.number = number
      whenBuffer(Int(number))
      switch source.fill(&frame, written: written) {
      case .full: submit(frame)
      case .nothing(let moment): pause(until: moment)
      }
    }
  }

  private func submit(_ frame: FrameBuffer) {
    state.withLock { state in
      state.events.append(.submitted(state.frames.count))
      state.frames.append(Array(frame.bytes[..<frame.count]))
      state.counted.items += frame.items
      state.counted.bytes += frame.contentBytes
    }
  }

  /// Waits until all data is written and the file system's clock has advanced; longer pauses are
  /// for sources that these tests change themselves.
  private func pause(until moment: Double?) {
    let seconds = max(0, (moment ?? 0) - now)
    usleep(UInt32(min(seconds, 0.03) * 1e6))
    state.withLock { state in
      if state.written <= state.begun { state.events.append(.drained) }
      state.written = state.begun + 1
      state.now = max(state.now, moment ?? 0)
    }
  }

  package func unsent(_ unsent: NotStored) { state.withLock { $0.unsent.append(unsent) } }

  package func skipped(items: UInt64, bytes: UInt64) {
    state.withLock { state in
      state.skipped.items += items
      state.skipped.bytes += bytes
    }
  }
}
