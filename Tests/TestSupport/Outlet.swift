import Glibc
package import MigrationArchive
package import MigrationSystem
package import MigrationWire
import Synchronization

/// Keeps what an export submits, and lets a test interfere at every call.
package final class Outlet: FrameOutlet {
  /// What has happened to frames, in order.
  package enum Event: Equatable, Sendable {
    case submitted(Int)
    case drained
  }

  private struct State: Sendable {
    var frames: [[UInt8]] = []
    var events: [Event] = []
    var unsent: [Unsent] = []
    var skipped = Tally()
    var counted = Tally()
    var buffers = 0
    var isStopped = false
  }

  private let state = Mutex(State())
  private let whenBuffer: @Sendable (Int) -> Void
  private let whenAsked: @Sendable (Int) -> Void

  /// - Parameters:
  ///   - whenBuffer: called with the number of the call, from 1 on, before a buffer is given out.
  ///   - whenAsked: called with the number of buffers that were given out, before it is said whether the export is to stop.
  package init(
    whenBuffer: @escaping @Sendable (Int) -> Void = { _ in }, whenAsked: @escaping @Sendable (Int) -> Void = { _ in }
  ) {
    self.whenBuffer = whenBuffer
    self.whenAsked = whenAsked
  }

  /// The frames as they were submitted.
  package var frames: [[UInt8]] { state.withLock { $0.frames } }
  /// What happened.
  package var events: [Event] { state.withLock { $0.events } }
  /// What the export could not send.
  package var unsent: [Unsent] { state.withLock { $0.unsent } }
  /// What the other end has already.
  package var skipped: Tally { state.withLock { $0.skipped } }
  /// What the frames said that they bring.
  package var counted: Tally { state.withLock { $0.counted } }

  package var isStopped: Bool {
    whenAsked(state.withLock { $0.buffers })
    return state.withLock { $0.isStopped }
  }

  package let stopSignal = StopSignal()

  /// Ends the export.
  package func stop() {
    state.withLock { $0.isStopped = true }
    stopSignal.set()
  }

  package func buffer() throws(ArchiveError) -> FrameBuffer {
    let number = state.withLock { state in
      state.buffers += 1
      return state.buffers
    }
    whenBuffer(number)
    if state.withLock({ $0.isStopped }) { throw ArchiveError(.stopped, "the transfer is over") }
    return FrameBuffer(capacity: Limits.plainLength)
  }

  package func submit(_ frame: consuming FrameBuffer) throws(ArchiveError) {
    let frame = frame
    state.withLock { state in
      state.events.append(.submitted(state.frames.count))
      state.frames.append(Array(frame.bytes[..<frame.count]))
      state.counted.items += frame.items
      state.counted.bytes += frame.contentBytes
    }
  }

  package func drain() throws(ArchiveError) { state.withLock { $0.events.append(.drained) } }

  /// Lets the file system's clock move on; longer pauses are for sources that these tests change themselves.
  package func pause(seconds: Double) throws(ArchiveError) { usleep(UInt32(min(seconds, 0.03) * 1e6)) }

  package func unsent(_ unsent: Unsent) throws(ArchiveError) { state.withLock { $0.unsent.append(unsent) } }

  package func skipped(items: UInt64, bytes: UInt64) {
    state.withLock { state in
      state.skipped.items += items
      state.skipped.bytes += bytes
    }
  }
}
