import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire

/// Serves one data stream, from JOIN to its end.
struct IncomingStreamWorker: Sendable {
  let setup: ReceiverSetup
  let served: ServedConnection
  let session: ReceivingSession

  func run() {
    guard let connection = served.take() else { return end(.over) }
    let durability = StreamDurability(wakeup: connection.wakeup)
    session.syncer.add(durability)
    defer { session.syncer.remove(durability) }
    do {
      var incoming = try incoming(connection, durability)
      serve(&incoming)
    } catch {
      end(.failed(Fault(error)))
    }
  }

  private func incoming(
    _ connection: consuming Connection, _ durability: StreamDurability
  ) throws -> IncomingData {
    let (setup, transfer, dismissal) = (setup, session.transfer, served.dismissal)
    let writer = StagingWriter(session.staging, sealer: try ChunkSealer(session.staging.keys)) {
      transfer.tellRefusals { setup.post(.refused(transfer.identifier, $0)) }
    }
    return try IncomingData(
      connection, writer: writer, durability: durability, gate: session.gate, traffic: transfer.traffic,
      isCompressible: session.features.contains(.zstd)
    ) { dismissal.isDismissed }
  }

  private func serve(_ incoming: inout IncomingData) {
    do {
      try incoming.run()
      end(.over)
    } catch {
      // The sender replaces a stream that was cut; the control connection knows when it cannot.
      if let error = error as? ConnectionError, error.code != .violated { return end(.over) }
      let fault = Fault(error)
      setup.farewells.during(served) {
        end(.failed(fault))
        // The remaining messages delay no other work: the stream writes no more.
        incoming.close(fault.isTold ? nil : fault.close)
      }
    }
  }

  private func end(_ end: ReceiverEngine.StreamEnd) {
    setup.post(.streamEnded(served.id, end, held: session.staging.held))
  }
}
