import MigrationSystem
import MigrationTLS
import MigrationWire
import Synchronization

/// Connections from the listening socket to READY, each on a thread of its own.
extension Receiver {
  /// Takes one connection to a thread of its own; false when none is waiting.
  func accept(_ listening: borrowing ListeningSocket) throws -> Bool {
    guard let socket = try listening.accept() else { return false }
    let wakeup = try Wakeup()
    let host = socket.remoteAddress.hostDescription
    // Here and not on its thread: whoever ends everything must not miss a connection that has just come.
    let ticket = state.withLock { state in
      state.wakeups[ObjectIdentifier(wakeup)] = wakeup
      return state.gate.enter(host: host, wakeup: wakeup)
    }
    let accepted = BootInstant.now()
    let parcel = Parcel(socket)
    do {
      try start("connection") { [self] in
        defer { forget(wakeup, ticket) }
        guard let socket = parcel.open() else { return }
        serve(socket, wakeup: wakeup, ticket: ticket, accepted: accepted)
      }
    } catch {
      forget(wakeup, ticket)
      throw error
    }
    return true
  }

  private func forget(_ wakeup: Wakeup, _ ticket: AdmissionGate.Ticket) {
    state.withLock { state in
      state.wakeups[ObjectIdentifier(wakeup)] = nil
      state.gate.leave(ticket)
    }
  }

  private func serve(
    _ socket: consuming StreamSocket, wakeup: Wakeup, ticket: AdmissionGate.Ticket, accepted: BootInstant
  ) {
    guard var connection = try? Connection(socket, context, wakeup: wakeup) else { return }
    do {
      try connection.handshake(until: options.pace.instant(Patience.handshake, after: accepted))
    } catch {
      return
    }
    // A paired device has a place of its own, which no flood of newcomers takes from it (Protocol §11).
    if isKnown(connection.peerFingerprint) { state.withLock { $0.gate.leave(ticket) } }
    let deadline = options.pace.instant(Patience.pairing, after: accepted)
    let admitted: Admitted
    do {
      admitted = try admit(&connection, until: deadline)
    } catch {
      if let reason = Self.abortReason(error) { connection.abort(reason) }
      return
    }
    state.withLock { $0.gate.leave(ticket) }
    switch admitted {
    case .stream(let reception): reception.serve(connection, until: deadline)
    case .control(let transfer, let isResumed): converse(connection, transfer, isResumed: isResumed)
    }
  }

  /// What a connection at READY is for.
  private enum Admitted {
    case control(IncomingTransfer, isResumed: Bool)
    case stream(Reception)
  }

  private func admit(_ connection: inout Connection, until deadline: BootInstant) throws -> Admitted {
    let (mode, hello) = try ServerPairing.hello(&connection, until: deadline)
    switch mode {
    case .pair: return .control(try pair(&connection, hello, until: deadline), isResumed: false)
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

  /// What the other end is told; nothing when its connection ended, was pushed out or took too long.
  private static func abortReason(_ error: any Error) -> AbortReason? {
    if error is ConnectionError { return nil }
    return error as? AbortReason ?? .malformed
  }

  private func isRemembered(_ client: KeyFingerprint?) -> Bool {
    state.withLock { $0.remembered.contains { $0.client == client } }
  }

  private func isKnown(_ client: KeyFingerprint?) -> Bool {
    isRemembered(client) || state.withLock { $0.reception?.client == client }
  }

  private func pair(
    _ connection: inout Connection, _ hello: [UInt8], until deadline: BootInstant
  ) throws -> IncomingTransfer {
    guard isInviting else { throw AbortReason.busy }
    defer { attention.signal() }
    let client = try ServerPairing.pair(
      &connection, hello: hello, office: office, own: identity.fingerprint, until: deadline)
    return try engage(pairedWith: client)
  }
}

/// Carries a socket into the thread that will own it.
private final class Parcel: Sendable {
  private let socket: Mutex<StreamSocket?>

  init(_ socket: consuming StreamSocket) { self.socket = Mutex(socket) }

  func open() -> StreamSocket? {
    socket.withLock { $0.take() }
  }
}
