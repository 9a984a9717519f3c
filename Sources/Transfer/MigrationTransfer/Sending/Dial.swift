import MigrationArchive
package import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// Connects to the receiver: races the target's addresses, then TCP, TLS, and the frames before READY.
struct Dial {
  typealias DialFailure = SenderEngine.DialFailure

  /// The keys by which the devices identify each other.
  enum Keys: Sendable {
    case pairing(PairingKeys)
    case transfer(OutgoingTransferContext)
    /// Of a kept pairing with the receiver that has this key.
    case device(KeyFingerprint)
  }

  private enum FoundKeys {
    case pairing(PairingKeys)
    case transfer(OutgoingTransferContext)
  }

  let connection: ConnectionID
  let route: Dialing.Route
  let keys: Keys
  let stop: StopSignal

  func run(_ setup: SenderSetup) -> SenderPerformer.WorkerReport {
    let spread = Double.random(in: 0...1)
    do throws(DialFailure) {
      let wakeup = try SystemError.mapped(Wakeup()) { DialFailure.failed(Failure($0)) }
      let waking = stop.waking(wakeup)
      defer { extendLifetime(waking) }
      let met = try meet(setup, wakeup)
      let meeting = SenderEngine.Meeting(
        connection: connection,
        host: route.relay.map { RelayAccess.address(through: $0.shown) } ?? met.address.hostDescription,
        address: route.relay.map { RelayAccess.address(through: $0.name) } ?? met.address.description,
        relay: route.relay?.shown, own: met.own)
      return Report(.dialed(.success(meeting), spread: spread), bringing: .met(met))
    } catch {
      return Report(.dialed(.failure(stop.isSet ? .stopped : error), spread: spread))
    }
  }

  private func meet(_ setup: SenderSetup, _ wakeup: Wakeup) throws(DialFailure) -> MetReceiver {
    let keys = try found(setup)
    let dialing = try dialing(keys)
    let addresses = try Failure.mapped(route.addresses()) { DialFailure.unresolved($0) }
    setup.post(.dialing(first: route.relay?.shown ?? addresses.first?.description ?? ""))
    switch keys {
    case .pairing(let keys): return try pair(keys, dialing, addresses, wakeup, setup)
    case .transfer(let transfer): return try comeBack(to: transfer, dialing, addresses, wakeup)
    }
  }

  /// The keys of a known device are read, and held, by this worker.
  private func found(_ setup: SenderSetup) throws(DialFailure) -> FoundKeys {
    switch keys {
    case .pairing(let keys): return .pairing(keys)
    case .transfer(let transfer): return .transfer(transfer)
    case .device(let receiver):
      do {
        if let transfer = try OutgoingTransferContext.greeting(receiver, setup.store) { return .transfer(transfer) }
      } catch {
        throw .failed(Failure(error))
      }
      throw .forgotten
    }
  }

  private func dialing(_ keys: FoundKeys) throws(DialFailure) -> Dialing {
    let (identity, pinned, hasSmallSegments): (Identity, KeyFingerprint?, Bool) =
      switch keys {
      case .pairing(let keys): (keys.identity, nil, false)
      case .transfer(let transfer): (transfer.identity, transfer.receiver, transfer.hasFallenSilent.isSet)
      }
    let relay = try calling(keys)
    do throws(TLSError) {
      let stop = stop
      let context = try TLSContext(role: .client, identity: identity)
      return Dialing(context: context, pinned: pinned, hasSmallSegments: hasSmallSegments, relay: relay) { stop.isSet }
    } catch {
      throw .failed(Failure(error))
    }
  }

  /// The request to the relay; nil without a relay.
  private func calling(_ keys: FoundKeys) throws(DialFailure) -> RelayCalling? {
    guard case .relayed(let access, let place) = route else { return nil }
    switch keys {
    case .pairing:
      guard let place else { preconditionFailure("a code for a relay has a place") }
      return RelayCalling(access: access, errand: .call(place))
    case .transfer(let transfer):
      guard let secret = transfer.meeting else { throw .forgotten }
      return RelayCalling(access: access, errand: .meet(RelayMeeting(ofSecret: secret)))
    }
  }

  private func pair(
    _ keys: PairingKeys, _ dialing: Dialing, _ addresses: [SocketAddress], _ wakeup: Wakeup, _ setup: SenderSetup
  ) throws(DialFailure) -> MetReceiver {
    let isReached = AtomicFlag()
    var connection = try ConnectionError.mapped(
      dialing.connect(to: addresses, wakeup: wakeup, isReached: isReached)
    ) { DialFailure(unreached: $0, isReached: isReached.isSet) }
    let meeting = try? connection.meetingSecret()
    let deadline = Dialing.deadline
    let shares: ClientPairing.Shares
    do throws(ConnectionError) {
      shares = try ClientPairing.exchange(
        on: &connection, keys.secret, own: keys.identity.fingerprint, until: deadline)
    } catch {
      throw unpaired(&connection, error, hasProved: false)
    }
    let receiver = shares.server
    do throws(Failure) { try keys.tries?.spend() } catch { throw .failed(error) }
    var isExpected: Bool? = false
    do throws(ConnectionError) {
      try ClientPairing.prove(shares, on: &connection, until: deadline)
      if setup.options.knownDevices.areExpected {
        let address = route.relay.map { RelayAccess.address(through: $0.name) } ?? connection.remoteAddress.description
        isExpected = try? setup.store?.expect(
          receiver, as: .sender, by: keys.identity, at: address, meeting: meeting)
      }
      try connection.say(.ready, until: Dialing.deadline)
    } catch {
      throw unpaired(&connection, error, hasProved: true)
    }
    // Without this, the code only has one try less.
    try? keys.tries?.giveBack()
    let transfer = OutgoingTransferContext(
      keys.identity, receiver: receiver, meeting: meeting, isOfDevice: isExpected == true)
    transfer.keepOthersAway(setup.store)
    return MetReceiver(connection, transfer, dialing.context, route.relay)
  }

  /// Ends a connection on which the devices have not paired.
  private func unpaired(_ connection: inout Connection, _ error: ConnectionError, hasProved: Bool) -> DialFailure {
    // The other end does not know of these.
    switch error.code {
    case .aborted(.codeMismatch) where !error.isToldAbort: connection.abort(.codeMismatch)
    case .unproved, .violation: connection.abort(.malformed)
    default: break
    }
    return DialFailure(ofPairing: error, hasProved: hasProved)
  }

  private func comeBack(
    to transfer: OutgoingTransferContext, _ dialing: Dialing, _ addresses: [SocketAddress], _ wakeup: Wakeup
  ) throws(DialFailure) -> MetReceiver {
    var connection: Connection
    do throws(ConnectionError) {
      connection = try dialing.connect(to: addresses, wakeup: wakeup)
    } catch {
      throw DialFailure(ofReturn: error)
    }
    do throws(ConnectionError) {
      try ClientPairing.come(back: .resume, on: &connection, until: Dialing.deadline)
    } catch {
      throw DialFailure(ofReturn: error)
    }
    return MetReceiver(connection, transfer, dialing.context, route.relay)
  }

  /// The secret of a code, and a fresh key: what a pairing begins with.
  struct PairingKeys: Sendable {
    let secret: PairingSecret
    let identity: Identity
    /// The count of the code's tries; nil where this device remembers nothing from run to run.
    let tries: CodeTries?
  }

  /// A receiver that a dial has reached.
  struct MetReceiver: Sendable {
    let connection: Handover<Connection>
    let transfer: OutgoingTransferContext
    /// The TLS context and the address of the connection, which data streams use too.
    let context: TLSContext
    let address: SocketAddress
    /// The relay at that address.
    let relay: RelayAccess?
    /// This device's addresses for the receiver; nil without a relay between them.
    let own: OwnAddresses?

    init(
      _ connection: consuming Connection, _ transfer: OutgoingTransferContext, _ context: TLSContext,
      _ relay: RelayAccess?
    ) {
      self.relay = relay
      self.transfer = transfer
      self.context = context
      address = connection.remoteAddress
      own = connection.own
      self.connection = Handover(connection)
    }
  }
}

extension SenderEngine.DialFailure {
  /// No connection was made to pair on. `isReached`: TCP had connected, so the failure counts as the
  /// receiver's, not as the network's.
  package init(unreached error: ConnectionError, isReached: Bool) {
    if error.code == .stopped {
      self = .stopped
    } else if let failure = error.relayFailure {
      self = .failed(failure)
    } else if error.code == .refused {
      self = .failed(
        Failure(
          .pairing, "no secure connection came up: \(error)",
          hint: "Check that the address and port are those of a device that runs 'peer receive'."))
    } else {
      let failure = Failure(
        .unreachable, "the other device cannot be reached: \(error)",
        hint: "Check the address and the port, and that 'peer receive' is running there.")
      self =
        isReached && error.isCut
        ? .turnedAway(failure, reason: error.description) : .unreached(failure, reason: error.description)
    }
  }

  /// The devices were not paired on a connection. Once this end has spent a try of the code, no answer
  /// of the other one makes it spend another: that would be one more guess.
  package init(ofPairing error: ConnectionError, hasProved: Bool) {
    let failure = Failure(unpaired: error, hasProved: hasProved)
    if hasProved {
      self = .failed(failure)
    } else if let place = error.place {
      self = .queued(place: place)
    } else {
      self = error.isPassing ? .turnedAway(failure, reason: failure.message) : .failed(failure)
    }
  }

  /// A device that comes back to a transfer was not let in.
  package init(ofReturn error: ConnectionError) {
    switch error.code {
    case .stopped: self = .stopped
    case .stranger(let key): self = .stranger(key)
    case .aborted(.busy) where error.place != nil: self = .queued(place: error.place ?? 0)
    // The receiver has no room, or has not noticed yet that the last session has ended.
    case .aborted(.busy) where !error.isLasting: self = .turnedAway(AbortReason.busy.failure, reason: "it is busy")
    case .aborted(.unknownPeer): self = .forgotten
    case .relay(.absent): self = .absent(reason: error.description)
    // None of these passes while a sender tries again.
    case .relay(.token), .relay(.malformed), .relay(.volume): self = .failed(error.relayFailure ?? error.failure)
    default:
      self =
        error.isCut
        ? .unreached(error.failure, reason: error.description) : .failed(error.failure)
    }
  }
}

extension Failure {
  /// The pairing on a connection has failed.
  fileprivate init(unpaired error: ConnectionError, hasProved: Bool) {
    switch error.code {
    case .aborted(.busy) where hasProved:
      self.init(
        .pairing, "the other device became busy after it had been shown the proof of the code",
        hint: "Start again: a code may be tried three times.")
    case .aborted(let reason): self = reason.failure
    case .unproved, .violation: self.init(.pairing, error.description, hint: AbortReason.interference)
    case .lost, .closed, .refused, .violated, .timedOut, .stopped, .told, .stranger, .relay:
      self.init(
        .pairing, "the connection ended before the devices were paired: \(error)",
        hint: "Check that the other device still shows a code, and try again.")
    }
  }
}

extension SenderEngine.StreamEnd {
  /// The end of a stream that ended by an error. Another stream may succeed if this one was cut or
  /// turned away. If all are, the session ends like a cut: only the control connection tells
  /// whether the transfer still exists.
  package init(by error: ConnectionError, hasBrought: Bool) {
    switch error.code {
    case .lost, .closed, .refused, .timedOut, .stopped, .aborted(.busy), .relay: self = .lost(hasBrought: hasBrought)
    case .aborted(.unknownPeer): self = .refused("the other device has no session for them")
    case .told(let close) where close.code == .silent: self = .refused(error.description)
    case .violated, .violation, .aborted, .told, .unproved, .stranger: self = .failed(error.failure)
    }
  }

  private static func refused(_ reason: String) -> Self {
    .turnedAway(Failure(.connection, "the data connections keep breaking: \(reason)"))
  }
}
