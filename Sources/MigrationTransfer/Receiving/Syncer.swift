import MigrationArchive
import MigrationSystem
import MigrationWire

/// Makes what the streams have written durable, in groups and beside the receiving (Protocol §9.4).
final class Syncer: Sendable {
  /// How long writes may gather before they are synced.
  private static let pause = Duration.seconds(2)

  private struct State: Sendable {
    var streams: [StreamDurability] = []
    var isStopped = false
  }

  private let staging: Staging
  private let state = Condition(State())
  private let synced: @Sendable () -> Void

  /// `synced` is called after each sync, on the thread of `run`, so it may be slow.
  init(_ staging: Staging, synced: @escaping @Sendable () -> Void) {
    self.staging = staging
    self.synced = synced
  }

  /// Looks after one more stream.
  func add(_ stream: StreamDurability) { state.withLock { $0.streams.append(stream) } }

  /// A stream has ended, and gets no further acknowledgement.
  func remove(_ stream: StreamDurability) { state.withLock { $0.streams.removeAll { $0 === stream } } }

  /// Ends `run` soon.
  func stop() {
    state.withLock { $0.isStopped = true }
    state.broadcast()
  }

  /// Syncs whenever something was written, until it is stopped.
  func run() throws(ArchiveError) {
    while !waitOrStop() {
      let streams = state.withLock { $0.streams }
      let written = streams.map(\.writtenFrames)
      guard zip(streams, written).contains(where: { $0.0.durableFrames < $0.1 }) else { continue }
      try staging.synchronize()
      for (stream, frames) in zip(streams, written) { stream.synced(frames) }
      synced()
    }
  }

  private func waitOrStop() -> Bool {
    let deadline = BootInstant.now().advanced(by: Self.pause)
    return state.wait(until: deadline) { $0.isStopped ? true : nil } ?? false
  }
}
