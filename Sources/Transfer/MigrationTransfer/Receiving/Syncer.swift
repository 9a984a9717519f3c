import MigrationArchive
import MigrationSystem
import MigrationWire

/// Makes the streams' written data durable, in groups and beside the receiving (Protocol §9.4).
final class Syncer: Sendable {
  /// The pause between two syncs.
  private static let pause = Duration.seconds(2)

  private let staging: Staging
  private let streams: StreamCounts
  private let isStopped = Condition(false)
  private let synced: @Sendable () -> Void

  /// The thread of `run` calls `synced` after each sync, so `synced` may be slow.
  init(_ staging: Staging, _ streams: StreamCounts, synced: @escaping @Sendable () -> Void) {
    self.staging = staging
    self.streams = streams
    self.synced = synced
  }

  /// Ends `run` soon.
  func stop() {
    isStopped.withLock { $0 = true }
    isStopped.broadcast()
  }

  /// Syncs whenever something was written, until it is stopped.
  func run() throws(Failure) {
    while !waitOrStop() {
      let streams = streams.all
      let written = streams.map(\.writtenFrames)
      guard zip(streams, written).contains(where: { $0.0.durableFrames < $0.1 }) else { continue }
      try staging.synchronize()
      for (stream, frames) in zip(streams, written) { stream.synced(frames) }
      synced()
    }
  }

  private func waitOrStop() -> Bool {
    let deadline = BootInstant.now().advanced(by: Self.pause)
    return isStopped.wait(until: deadline) { $0 ? true : nil } ?? false
  }
}

/// The data streams of a session, for the syncer of its running part.
final class StreamCounts: Sendable {
  private let streams = Mutex<[IncomingData.StreamDurability]>([])

  var all: [IncomingData.StreamDurability] { streams.withLock { $0 } }

  func add(_ stream: IncomingData.StreamDurability) { streams.withLock { $0.append(stream) } }

  /// The result of a part is said.
  func settle() { for stream in all { stream.settle() } }

  /// A stream has ended, and gets no further acknowledgement.
  func remove(_ stream: IncomingData.StreamDurability) { streams.withLock { $0.removeAll { $0 === stream } } }
}
