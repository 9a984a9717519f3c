import MigrationArchive
import MigrationSystem
package import MigrationWire

/// Makes the streams' written data durable, in groups and beside the receiving (Protocol §9.4).
final class Syncer: Sendable {
  /// The pause between two syncs.
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

  /// Adds a stream.
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

/// Separates the writing of a session from the end of the archive, and from the next session
/// (Protocol §6.5, §7.3).
package final class WritingGate: Sendable {
  private struct State {
    var writing = 0
    var isShut = false
    var isClosed = false
    var lastLeft = BootInstant.now()
  }

  private let state = Mutex(State())

  package init() {}

  /// Something is about to be written. A violation after the end of the export; after that of the
  /// session, the stream counts as stopped.
  package func enter() throws(ConnectionError) {
    try state.withLock { (state) throws(ConnectionError) in
      guard !state.isClosed else { throw ConnectionError(.stopped, "the session has ended") }
      guard !state.isShut else { throw ConnectionError(Violation(.state, "a data frame")) }
      state.writing += 1
    }
  }

  /// A write has ended.
  package func leave() {
    state.withLock { state in
      state.writing -= 1
      state.lastLeft = .now()
    }
  }

  /// The end of the last write, or the time when the gate was made; nil during a write.
  var lastLeft: BootInstant? { state.withLock { $0.writing == 0 ? $0.lastLeft : nil } }

  /// The export has ended. A violation while a frame is being written, because that frame cannot
  /// have been acknowledged yet.
  package func shut() throws(Violation) {
    try state.withLock { (state) throws(Violation) in
      guard state.writing == 0 else { throw Violation(.state, "the end of the export") }
      state.isShut = true
    }
  }

  /// The session has ended: only writes that have begun finish.
  package func close() { state.withLock { $0.isClosed = true } }
}
