import MigrationWire

/// Connections up to READY (Protocol §4.2, §11).
extension ReceiverEngine {
  // MARK: The accept queue

  mutating func arrived(_ id: ConnectionID, _ remote: Remote, _ chance: UInt64) {
    if phase.isEnding { return act(.drop(id)) }
    if let turnedAway = connections.arrive(id, remote, now: now, chance: chance) { act(.drop(turnedAway)) }
  }

  mutating func outOfDescriptors(_ chance: UInt64) {
    // The new connection stays in the kernel's queue; one in the accept queue makes room for it.
    if let id = connections.dismissOne(chance: chance) { return act(.drop(id)) }
    act(.pauseAccepting(until: now + Self.acceptingPause))
  }

  /// How many seconds the receiver accepts nothing when no descriptors are left, and turning a
  /// connection away frees none.
  private static var acceptingPause: Double { 0.1 }

  /// Lets the waiting connections in, where they have a place.
  mutating func tendConnections() {
    if phase.isEnding { return }
    for id in connections.expire(now: now) { act(.drop(id)) }
    while let (id, evicted) = connections.letIn(now: now, isEngaged: phase.isEngaged) {
      if let evicted { act(.dismiss(evicted, makesRoom: true)) }
      act(.greet(id, tlsUntil: now + ReadyLimits.handshake, helloUntil: now + ReadyLimits.pairing))
    }
  }

  /// Ends every connection before READY.
  mutating func dismissAll() {
    for (id, visitor) in connections.all {
      if visitor.isServed {
        connections.advance(id, to: .dismissed(makesRoom: false))
        act(.dismiss(id, makesRoom: false))
      } else if visitor.step == .acceptQueue {
        leave(id)
      }
    }
  }

  // MARK: Workers before READY

  mutating func departed(_ id: ConnectionID) {
    if connections[id]?.step == .confirming { codes.reopen() }
    // A sender looks whether a receiver is here before its user types a code.
    if let visitor = connections[id], visitor.step == .acceptQueue, visitor.remote.mayPair { askForTurn() }
    connections.forget(id)
  }

  /// TLS is established: a known sender gets a place that no stranger can take.
  mutating func secured(_ id: ConnectionID, _ key: KeyFingerprint?, _ isOfDevice: Bool) {
    guard connections[id]?.step == .greeting else { return }
    connections.show(key, isOfDevice, on: id, now: now)
    guard let key, isOfDevice || transfers[from: key] != nil, !connections.recognize(key, on: id) else { return }
    connections.advance(id, to: .dismissed(makesRoom: true))
    act(.dismiss(id, makesRoom: true))
  }

  /// The request of a connection has arrived. It continues, or is refused at once.
  mutating func asked(_ id: ConnectionID, _ mode: ConnectionMode) {
    guard let visitor = visitor(id) else { return }
    connections.ask(id, now: now)
    do throws(AbortReason) {
      switch mode {
      case .pair:
        try admitPairing(from: visitor.remote)
        connections.advance(id, to: .sharing)
        act(.awaitShare(id, until: visitor.deadline))
      case .resume:
        _ = try returning(visitor)
        welcome(id, visitor, .resume)
      case .join:
        guard joinable(by: visitor.key) != nil else { throw .unknownPeer }
        welcome(id, visitor, .join)
      }
    } catch {
      if error == .unknownPeer, mode == .resume { tellForgotten(visitor) }
      let place = error == .busy ? placeInLine(visitor, mode) : 0
      if error == .busy { askForTurn() }
      turnAway(id, error, place: place)
    }
  }

  /// A sender comes with a key that may have been known: tells the user, once for an address.
  private mutating func tellForgotten(_ visitor: ReceiverConnections.Visitor) {
    guard codes.isTold(of: visitor.remote.host) else { return }
    tell(.notice("refused \(visitor.remote.host): its key is not known here, or not any more; it needs a code"))
  }

  /// A sender has to wait. Returns how many senders come first; 0 if it only has to try again.
  private mutating func placeInLine(_ visitor: ReceiverConnections.Visitor, _ mode: ConnectionMode) -> Int {
    guard settings.keeps, stop == nil, mode != .join else { return 0 }
    guard mode == .resume, let key = visitor.key else { return max(0, 1 + line.count(now) - free) }
    // A sender that waits for reservations leaves a free place to others.
    let waiting = reservationWaits.keys.filter { transfers[of: $0]?.client == key }
    for transfer in waiting { keepWaiting(transfer) }
    if let reservations = waiting.map(reservationsBefore).max(), reservations > 0 { return reservations }
    // A sender that has to yield to others has no place in the line.
    if yielding.contains(where: { now < $0.value && transfers[of: $0.key]?.client == key }) { return 0 }
    return line.wait(key, free: free, now: now)
  }

  private mutating func welcome(_ id: ConnectionID, _ visitor: ReceiverConnections.Visitor, _ mode: ConnectionMode) {
    connections.advance(id, to: .welcoming(mode))
    act(.welcome(id, mode, until: visitor.deadline))
  }

  mutating func turnAway(_ id: ConnectionID, _ reason: AbortReason, place: Int = 0) {
    connections.advance(id, to: .turnedAway)
    act(.turnAway(id, reason, place: UInt16(clamping: place)))
  }

  /// Closes a connection that rests, without sending anything.
  mutating func leave(_ id: ConnectionID) {
    connections.forget(id)
    act(.drop(id))
  }

  /// A connection whose worker has done its part; nil, and the connection is closed, if it was
  /// dismissed meanwhile.
  mutating func visitor(_ id: ConnectionID) -> ReceiverConnections.Visitor? {
    guard let visitor = connections[id] else { return nil }
    switch visitor.step {
    case .dismissed(makesRoom: true): turnAway(id, .busy)
    case .dismissed(makesRoom: false): leave(id)
    case .acceptQueue, .greeting, .sharing, .exchanging, .confirming, .welcoming, .turnedAway, .inside: return visitor
    }
    return nil
  }

  // MARK: READY

  mutating func ready(_ id: ConnectionID, _ identifier: TransferID) {
    guard let visitor = connections[id] else { return }
    switch visitor.step {
    case .confirming:
      if let key = visitor.key, isInviting { return pair(id, key, identifier) }
      codes.reopen()
    case .welcoming(.resume):
      do throws(AbortReason) {
        if let transfer = try returning(visitor) {
          return converse(id, about: transfer, orElse: identifier, isResumed: true)
        }
        if let key = visitor.key { return welcomeDevice(id, key, identifier) }
      } catch {
        // It is left.
      }
    case .acceptQueue, .greeting, .sharing, .exchanging, .welcoming, .dismissed, .turnedAway, .inside: break
    }
    // It was dismissed, or another sender has come back meanwhile.
    leave(id)
  }

  mutating func joining(_ id: ConnectionID, _ join: Join) {
    guard let visitor = connections[id], case .welcoming = visitor.step, let number = joinable(by: visitor.key),
      let session = sessions[number]?.streams?.session
    else { return leave(id) }
    guard session == join.session else {
      let (stranger, current) = (join.session.hexadecimal, session.hexadecimal)
      return refuse(
        id, Close(.silent, "a stream of session \(stranger) cannot join, since session \(current) is running"))
    }
    connections.enter(id)
    for replaced in sessions[number]?.streams?.join(id, join) ?? [] { act(.endStream(replaced)) }
  }

  /// Refuses a connection that wanted to join. The session, and its other streams, continue.
  mutating func refuse(_ id: ConnectionID, _ refusal: Close) {
    connections.advance(id, to: .turnedAway)
    act(.refuseStream(id, refusal))
  }

  // MARK: Permission to connect

  /// Whether a sender may pair: not as many others are here as are served at once, and replacing one
  /// that is away would lose nothing.
  var isInviting: Bool {
    // A receiver that stays and is being stopped only waits for last messages.
    guard case .serving(let served) = phase, stop == nil else { return false }
    return served.count < settings.atOnce
      || served.contains { place in
        // A receiver that stays keeps the data of a sender that is away for later.
        !place.isEngaged && (settings.keeps || transfers[of: place.transfer]?.isEmpty ?? false)
      }
  }

  /// Whether a sender is next in the line; nil is one without a place in it.
  func isTurn(of key: KeyFingerprint?) -> Bool { line.isTurn(of: key, free: free, now: now) }

  /// How many more senders could be served now.
  private var free: Int { max(0, settings.atOnce - phase.engaged) }

  /// Refuses an address that the user does not allow to pair, and every other address while as many
  /// senders are served as may be.
  private mutating func admitPairing(from remote: Remote) throws(AbortReason) {
    guard remote.mayPair else {
      if codes.isTold(of: remote.host) {
        tell(.notice("\(remote.host) wants to pair, and is not allowed to"))
      }
      throw .notPairing
    }
    guard isInviting, isTurn(of: nil) else { throw .busy }
  }

  /// The transfer that a known sender may continue now; nil where a known device may begin one.
  private func returning(_ visitor: ReceiverConnections.Visitor) throws(AbortReason) -> TransferID? {
    // A known device may have several transfers: it comes back to the served one.
    let served = phase.served.lazy.compactMap { self.transfers[of: $0.transfer] }.first { $0.client == visitor.key }
    let known = served ?? transfers[from: visitor.key]
    guard let transfer = known?.identifier else {
      guard visitor.isOfDevice else { throw .unknownPeer }
      guard isInviting, !connections.isConfirming, isTurn(of: visitor.key) else { throw .busy }
      return nil
    }
    if settings.keeps {
      try admitReturn(to: transfer)
      return transfer
    }
    if let other = phase.served.first?.transfer, other != transfer, !givesWay(other) { throw .busy }
    return transfer
  }

  /// Whether replacing a transfer would lose nothing: nothing is staged, and no stream may be
  /// writing.
  func givesWay(_ transfer: TransferID) -> Bool {
    guard transfers[of: transfer]?.isEmpty == true else { return false }
    return sessions.values.allSatisfy { $0.transfer != transfer || $0.streams?.served.isEmpty ?? true }
  }

  /// The session that streams of a sender may join.
  private func joinable(by client: KeyFingerprint?) -> SessionNumber? {
    // Data of a failed last part may still be under way when its session has stepped aside.
    (phase.sessions + asides.reversed()).first { number in
      guard let session = sessions[number] else { return false }
      return session.isTalking && session.streams != nil
        && transfers[of: session.transfer]?.client == client
    }
  }
}
