import MigrationEngine
package import MigrationSystem
import MigrationTLS
package import MigrationWire

/// A relay as this device's user has named it, and the token that lets this device use it.
package struct RelayAccess: Equatable, Sendable {
  package let place: HostAndPort
  let token: RelayToken

  package init(_ place: HostAndPort, _ token: RelayToken) {
    self.place = place
    self.token = token
  }

  /// The name that proofs have.
  var name: String { place.text }

  /// The name for people.
  package var shown: String { Self.shown(place) }

  /// The name of a relay for people.
  package static func shown(_ place: HostAndPort) -> String {
    place.port == Limits.relayPort ? place.host ?? "" : place.text
  }

  /// A request, and its proof for a relay's challenge.
  func request(_ errand: RelayErrand, challenge: [UInt8]) throws(SystemError) -> [UInt8] {
    let nonce = try SystemRandom.bytes(RelayFrame.challengeSize)
    return RelayRequest(errand, at: name, nonce: nonce).frame(token, challenge: challenge)
  }

  /// The address that a record has of a device that was met at a relay.
  static func address(through shown: String) -> String { "through \(shown)" }

  /// Whether a recorded address is one of those.
  static func isAddress(_ address: String) -> Bool { address.hasPrefix("through ") }

  /// Why a relay is of no use now.
  enum Trouble: Error, Equatable, Sendable {
    /// The connection has ended, and why: a lower-case clause.
    case lost(String)
    case refused(RelayRefusal, wait: UInt16)
    /// Another program answers there.
    case foreign

    /// A lower-case clause.
    var clause: String {
      switch self {
      case .lost(let clause): clause
      case .foreign: "another program answers there"
      case .refused(let reason, _): reason.clause
      }
    }
  }

  /// Reads the frames of a relay, the challenge first and once, and not one byte behind a frame: those
  /// behind JOINED are the other device's.
  struct Reader: Sendable {
    private var input: [UInt8] = []
    private var isChallenged = false

    /// The next frame, once it is whole.
    ///
    /// `receive` takes bytes of the connection, as `StreamSocket.receive` does.
    mutating func next(
      _ receive: (inout MutableSpan<UInt8>) throws(SystemError) -> Int?
    ) throws(RelayAccess.Trouble) -> RelayFrame? {
      while true {
        let missing = try missing
        if missing == 0 { break }
        var bytes = [UInt8](repeating: 0, count: missing)
        let count: Int?
        do throws(SystemError) {
          var memory = bytes.mutableSpan
          count = try receive(&memory)
        } catch {
          throw .lost("\(error)")
        }
        guard let count else { return nil }
        guard count > 0 else { throw .lost("it has ended the connection") }
        input += bytes[..<count]
      }
      defer { input = [] }
      let bytes = input
      let frame = try Self.wire { () throws(Violation) in try RelayFrame(bytes.span) }
      if case .refused = frame { return frame }
      let isChallenge = if case .challenge = frame { true } else { false }
      guard isChallenge != isChallenged else { throw .foreign }
      isChallenged = true
      return frame
    }

    private var missing: Int {
      get throws(RelayAccess.Trouble) {
        guard input.count >= RelayFrame.headerSize else { return RelayFrame.headerSize - input.count }
        let bytes = input
        return try Self.wire { () throws(Violation) in
          try RelayFrame.length(bytes.span.extracting(first: RelayFrame.headerSize))
        } - input.count
      }
    }

    private static func wire<Value>(_ body: () throws(Violation) -> Value) throws(RelayAccess.Trouble) -> Value {
      do { return try body() } catch { throw .foreign }
    }
  }
}

extension RelayRefusal {
  /// A lower-case clause about the relay.
  var clause: String {
    switch self {
    case .malformed: "it does not understand this program"
    case .token: "it does not take the token"
    case .absent: "no device waits there"
    case .busy: "it is busy"
    case .volume: "its volume for this token is used up"
    case .ending: "it is being stopped"
    case .idle: "nothing came for too long"
    case .full: "as many devices wait there already as may with this token at this address"
    }
  }
}

/// Has a relay join a connection with another device.
struct RelayCalling: Sendable {
  let access: RelayAccess
  let errand: RelayErrand

  /// Returns when the next byte is the other device's: where the relay sees this device. Blocks.
  func run(
    on socket: borrowing StreamSocket, wakeup: Wakeup, isStopped: () -> Bool, until deadline: BootInstant
  ) throws(ConnectionError) -> InternetAddress {
    var poller = try SystemError.mapped(Poller()) { ConnectionError($0) }
    var reader = RelayAccess.Reader()
    while true {
      do throws(RelayAccess.Trouble) {
        if let frame = try reader.next({ (memory) throws(SystemError) in try socket.receive(into: &memory) }) {
          if let address = try take(frame, socket) { return address }
          continue
        }
      } catch {
        throw ConnectionError(error, at: access.shown)
      }
      var interests = [Poller.Interest(socket.raw, .readable), Poller.Interest(wakeup.raw, .readable)]
      let isReady = try SystemError.mapped(poller.wait(&interests, until: deadline)) { ConnectionError($0) }
      if !isReady { throw ConnectionError(.timedOut, "the relay \(access.shown) does not answer") }
      if !interests[1].ready.isEmpty {
        wakeup.clear()
        if isStopped() { throw ConnectionError(.stopped, "it was stopped") }
      }
    }
  }

  /// Answers a frame; the result of the last one.
  private func take(_ frame: RelayFrame, _ socket: borrowing StreamSocket) throws(RelayAccess.Trouble)
    -> InternetAddress?
  {
    switch frame {
    case .challenge(let challenge):
      // A new connection has room for it.
      guard let request = try? access.request(errand, challenge: challenge),
        (try? socket.send(request.span)) == request.count
      else { throw .lost("it takes nothing") }
      return nil
    case .joined(let address): return address
    case .refused(let reason, let wait): throw .refused(reason, wait: wait)
    case .place, .ring, .ping, .pong, .cut, .request, .meet: throw .foreign
    }
  }
}

extension ConnectionError {
  /// A relay that has not joined a connection.
  init(_ trouble: RelayAccess.Trouble, at relay: String) {
    switch trouble {
    case .lost(let clause): self.init(.lost, "the connection to the relay \(relay) was lost: \(clause)")
    case .foreign: self.init(.refused, "the relay \(relay) cannot be used: \(trouble.clause)")
    case .refused(let reason, _): self.init(.relay(reason), "the relay \(relay) does not connect: \(reason.clause)")
    }
  }

  /// The failure of a user's transfer; nil where it is not a relay's refusal, or may pass.
  var relayFailure: Failure? {
    guard case .relay(let reason) = code else { return nil }
    switch reason {
    case .token:
      return Failure(
        .refused, description, hint: "Ask for the relay's token, and name a file with it by --via-token-file.")
    case .absent:
      return Failure(
        .pairing, description,
        hint: "Check the number that the other device shows: it gets a new one when it has lost the relay.")
    case .volume:
      return Failure(
        .unreachable, description, hint: "Try again tomorrow, or use another relay on both devices.")
    case .malformed: return Failure(.failed, description, hint: "Install a current peer there or here.")
    case .busy, .ending, .idle, .full: return nil
    }
  }
}
