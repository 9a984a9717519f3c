import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import Synchronization

/// Connections from the listening socket to READY, each on a thread of its own.
extension Receiver {
  /// Where a connection comes from, as far as that decides who may come in.
  func origin(of remote: SocketAddress) -> Admission.Origin {
    var address = remote
    address.port = 0
    let isFamiliar = state.withLock { $0.familiar.contains(address) }
    return Admission.Origin(
      address: address.hostDescription, network: keeper.network(of: address).description, isFamiliar: isFamiliar)
  }

  /// Serves a connection that was let in on a thread of its own.
  func serve(_ guest: Guest, _ parcel: Parcel) throws {
    // Here and not on its thread: what ends everything must not miss a connection that has just come.
    keeper.keep(guest)
    do {
      try start("connection") { [self] in
        defer { keeper.forget(guest) }
        guard let socket = parcel.open() else { return }
        serve(socket, guest)
      }
    } catch {
      keeper.forget(guest)
      throw error
    }
  }

  private func serve(_ socket: consuming StreamSocket, _ guest: Guest) {
    let begun = BootInstant.now()
    let made = try? Connection(socket, context, wakeup: guest.wakeup) { guest.isDismissed }
    guard var connection = made else { return }
    do {
      try connection.handshake(until: options.pace.instant(Patience.handshake, after: begun), within: gate)
    } catch {
      return
    }
    let deadline = options.pace.instant(Patience.pairing, after: begun)
    let admitted: Admitted
    do {
      try welcome(guest, connection.peerFingerprint)
      admitted = try admit(&connection, guest, until: deadline)
    } catch {
      refuse(&connection, guest, error)
      return
    }
    keeper.pass(guest)
    switch admitted {
    case .stream(let reception): reception.serve(connection, until: deadline)
    case .control(let transfer, let isResumed): converse(connection, transfer, isResumed: isResumed)
    }
  }

  /// TLS is up: a known sender has a place that no stranger takes (Protocol §11).
  private func welcome(_ guest: Guest, _ key: KeyFingerprint?) throws(AbortReason) {
    guard let key, isKnown(key) else { return keeper.advance(guest, to: .secured) }
    guard keeper.recognize(guest, key) else { throw .busy }
  }

  /// Tells the other end why it is turned away; one that only made room is told that this device is busy.
  private func refuse(_ connection: inout Connection, _ guest: Guest, _ error: any Error) {
    if guest.isEvicted {
      connection.abort(.busy, within: .milliseconds(100))
    } else if let reason = Self.abortReason(error) {
      connection.abort(reason)
    }
  }

  /// What a connection at READY is for.
  private enum Admitted {
    case control(IncomingTransfer, isResumed: Bool)
    case stream(Reception)
  }

  private func admit(
    _ connection: inout Connection, _ guest: Guest, until deadline: BootInstant
  ) throws -> Admitted {
    let (mode, hello) = try ServerPairing.hello(&connection, until: deadline)
    keeper.advance(guest, to: .asking)
    switch mode {
    case .pair: return .control(try pair(&connection, guest, hello, until: deadline), isResumed: false)
    case .resume:
      guard isRemembered(connection.peerFingerprint) else { throw AbortReason.unknownPeer }
      try ServerPairing.welcome(back: .resume, on: &connection, until: deadline)
      return .control(try engage(returning: connection.peerFingerprint), isResumed: true)
    case .join:
      guard let reception = state.withLock({ $0.reception }), reception.client == connection.peerFingerprint else {
        throw AbortReason.unknownPeer
      }
      try ServerPairing.welcome(back: .join, on: &connection, until: deadline)
      return .stream(reception)
    }
  }

  /// What the other end is told; nothing when its connection ended or took too long.
  private static func abortReason(_ error: any Error) -> AbortReason? {
    if let error = error as? ConnectionError, error.code != .violated { return nil }
    return error as? AbortReason ?? .malformed
  }

  private func isRemembered(_ client: KeyFingerprint?) -> Bool {
    state.withLock { $0.remembered.contains { $0.client == client } }
  }

  private func isKnown(_ client: KeyFingerprint?) -> Bool {
    isRemembered(client) || state.withLock { $0.reception?.client == client }
  }

  private func pair(
    _ connection: inout Connection, _ guest: Guest, _ hello: [UInt8], until deadline: BootInstant
  ) throws -> IncomingTransfer {
    guard office.admits(connection.remoteAddress) else { throw AbortReason.notPairing }
    guard isInviting else { throw AbortReason.busy }
    defer { attention.signal() }
    let client = try ServerPairing.pair(
      &connection, hello: hello, office: office, own: identity.fingerprint, until: deadline,
      // Whose code is used up need not make room any more.
      proven: { keeper.pass(guest) })
    return try engage(pairedWith: client)
  }
}
