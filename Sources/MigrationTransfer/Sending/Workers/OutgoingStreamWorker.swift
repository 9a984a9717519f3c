import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire

/// Carries a data stream: connects, joins, and sends what the window gives it.
struct OutgoingStreamWorker: SenderWorker {
  let session: SendingSession
  let join: Join
  let wakeup: Wakeup
  /// How many before it in its line were lost without having brought anything.
  let attempts: Int
  /// How long nothing may move on it, in seconds.
  let patience: Double

  var name: String { "stream \(join.stream)" }

  func run(_ events: EventQueue<SenderNews>) -> SenderNews {
    do {
      try carry(events)
      return ended(.finished)
    } catch {
      if session.queue.isStopped { return ended(.stopped) }
      if (error as? ConnectionError)?.code == .timedOut { session.transfer.hasFallenSilent.set() }
      return ended(SenderEngine.StreamEnd(by: error, hasBrought: session.queue.hasBrought(join.stream)))
    }
  }

  func end(without thread: Fault) -> SenderNews { ended(.failed(thread)) }

  private func ended(_ end: SenderEngine.StreamEnd) -> SenderNews {
    .event(.streamEnded(session.number, join.stream, end))
  }

  private func carry(_ events: EventQueue<SenderNews>) throws {
    let queue = session.queue
    let dialing = Dialing(
      context: session.way.context, hasSmallSegments: session.transfer.hasFallenSilent.isSet
    ) { queue.isStopped }
    var connection = try dialing.connect(to: [session.way.address], wakeup: wakeup)
    try ClientPairing.come(
      back: .join, on: &connection, to: session.transfer.receiver, until: Dialing.deadline)
    events.post(.event(.streamJoined(session.number, join.stream)))
    var data = OutgoingData(
      connection, join, queue: queue, compression: session.compression, patience: patience, attempts: attempts,
      traffic: session.transfer.traffic)
    try data.run()
  }
}
