import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// Reaches the receiver: races the target's addresses, then TCP, TLS, and the frames before READY.
struct DialWorker: SenderWorker {
  typealias DialFailure = SenderEngine.DialFailure

  /// How the two devices make sure of each other.
  enum Keys: Sendable {
    case pairing(PairingKeys)
    case transfer(SendingTransfer)
  }

  let connection: ConnectionID
  let route: DialRoute
  let keys: Keys
  let stop: StopSignal
  let name = "dial"

  func run(_ events: EventQueue<SenderNews>) -> SenderNews {
    do throws(DialFailure) {
      let wakeup = try wakeup
      let waking = stop.waking(wakeup)
      defer { extendLifetime(waking) }
      return .met(try meet(events, wakeup))
    } catch {
      return .event(.dialed(.failure(stop.isSet ? .stopped : error), spread: SenderLoop.spread))
    }
  }

  func end(without thread: Fault) -> SenderNews {
    .event(.dialed(.failure(.failed(thread.failure)), spread: SenderLoop.spread))
  }

  private var wakeup: Wakeup {
    get throws(DialFailure) {
      do throws(SystemError) { return try Wakeup() } catch { throw .failed(Fault(error).failure) }
    }
  }

  private func meet(_ events: EventQueue<SenderNews>, _ wakeup: Wakeup) throws(DialFailure) -> Encounter {
    let dialing = try dialing
    let addresses: [SocketAddress]
    do throws(TransferFailure) { addresses = try route.addresses() } catch { throw .unresolved(error) }
    events.post(.event(.dialing(first: addresses.first?.description ?? "")))
    switch keys {
    case .pairing(let keys): return try pair(keys, dialing, addresses, wakeup)
    case .transfer(let transfer): return try comeBack(to: transfer, dialing, addresses, wakeup)
    }
  }

  private var dialing: Dialing {
    get throws(DialFailure) {
      let (identity, hasSmallSegments) =
        switch keys {
        case .pairing(let keys): (keys.identity, false)
        case .transfer(let transfer): (transfer.identity, transfer.hasFallenSilent.isSet)
        }
      do throws(TLSError) {
        let stop = stop
        let context = try TLSContext(role: .client, identity: identity)
        return Dialing(context: context, hasSmallSegments: hasSmallSegments) { stop.isSet }
      } catch {
        throw .failed(Fault(error).failure)
      }
    }
  }

  private func pair(
    _ keys: PairingKeys, _ dialing: Dialing, _ addresses: [SocketAddress], _ wakeup: Wakeup
  ) throws(DialFailure) -> Encounter {
    let isReached = Flag()
    var connection: Connection
    do throws(ConnectionError) {
      connection = try dialing.connect(to: addresses, wakeup: wakeup, isReached: isReached)
    } catch {
      throw DialFailure(unreached: error, isReached: isReached.isSet)
    }
    let receiver: KeyFingerprint
    do {
      receiver = try ClientPairing.pair(
        &connection, secret: keys.secret, own: keys.identity.fingerprint, until: Dialing.deadline)
    } catch {
      if let reason = AbortReason(telling: error) { connection.abort(reason) }
      throw DialFailure(ofPairing: error)
    }
    return encounter(connection, dialing, SendingTransfer(keys.identity, receiver: receiver))
  }

  private func comeBack(
    to transfer: SendingTransfer, _ dialing: Dialing, _ addresses: [SocketAddress], _ wakeup: Wakeup
  ) throws(DialFailure) -> Encounter {
    var connection: Connection
    do throws(ConnectionError) {
      connection = try dialing.connect(to: addresses, wakeup: wakeup)
    } catch {
      throw DialFailure(ofReturn: error)
    }
    if let key = connection.peerFingerprint, key != transfer.receiver { throw .stranger(key) }
    do {
      try ClientPairing.come(back: .resume, on: &connection, to: transfer.receiver, until: Dialing.deadline)
    } catch {
      throw DialFailure(ofReturn: error)
    }
    return encounter(connection, dialing, transfer)
  }

  private func encounter(
    _ met: consuming Connection, _ dialing: Dialing, _ transfer: SendingTransfer
  ) -> Encounter {
    let address = met.remoteAddress
    return Encounter(
      meeting: SenderEngine.Meeting(
        connection: connection, receiver: transfer.receiver, host: address.hostDescription,
        address: address.description),
      connection: RestingConnection(met), transfer: transfer,
      way: WayToReceiver(context: dialing.context, address: address))
  }
}
