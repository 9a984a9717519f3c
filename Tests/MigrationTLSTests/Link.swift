import COpenSSL

@testable import MigrationTLS

/// A client and a server whose ciphertext is carried by hand.
struct Link: ~Copyable {
  var client: TLSSession
  var server: TLSSession

  /// Two ends that have not shaken hands.
  init(_ client: consuming TLSSession, _ server: consuming TLSSession) {
    self.client = client
    self.server = server
  }

  /// Two ends with fresh identities that have not shaken hands.
  init(bufferSize: Int = TLSSession.defaultBufferSize, recordsPerKey: Int = TLSSession.defaultRecordsPerKey) throws {
    let client = try TLSContext(role: .client, identity: .generate())
    let server = try TLSContext(role: .server, identity: .generate())
    self.init(
      try TLSSession(client, bufferSize: bufferSize, recordsPerKey: recordsPerKey),
      try TLSSession(server, bufferSize: bufferSize, recordsPerKey: recordsPerKey))
  }

  /// Two ends that have shaken hands.
  static func established(
    bufferSize: Int = TLSSession.defaultBufferSize, recordsPerKey: Int = TLSSession.defaultRecordsPerKey,
    batch: Int = .max
  ) throws -> Link {
    var link = try Link(bufferSize: bufferSize, recordsPerKey: recordsPerKey)
    try link.shakeHands(batch: batch)
    return link
  }

  /// Shakes hands, with at most `batch` bytes of ciphertext at a time.
  mutating func shakeHands(batch: Int = .max) throws {
    while true {
      let clientStep = try client.handshake()
      let moved = carryToServer(batch)
      let serverStep = try server.handshake()
      if moved + carryToClient(batch) == 0, clientStep == .finished, serverStep == .finished { return }
    }
  }

  /// Moves ciphertext, at most `batch` bytes, and says how many.
  @discardableResult mutating func carryToServer(_ batch: Int = .max) -> Int {
    carry(from: &client, to: &server, batch)
  }

  /// Moves ciphertext, at most `batch` bytes, and says how many.
  @discardableResult mutating func carryToClient(_ batch: Int = .max) -> Int {
    carry(from: &server, to: &client, batch)
  }

  /// The result of each end's handshake, after both have continued until nothing moves.
  mutating func handshakeErrors() -> (client: TLSError?, server: TLSError?) {
    var errors: (client: TLSError?, server: TLSError?) = (nil, nil)
    repeat {
      do { _ = try client.handshake() } catch { errors.client = error }
      do { _ = try server.handshake() } catch { errors.server = error }
    } while carryToServer() + carryToClient() > 0
    // A client learns that its certificate was refused only when it reads.
    if errors.client == nil, client.peerFingerprint != nil {
      do { _ = try client.readAll() } catch { errors.client = error as? TLSError }
    }
    return errors
  }
}

/// Moves ciphertext, at most `batch` bytes, and says how many.
@discardableResult
func carry(from: inout TLSSession, to: inout TLSSession, _ batch: Int) -> Int {
  guard from.pendingOutput > 0, to.inputSpace > 0 else { return 0 }
  return from.send { source in
    to.receive(atMost: batch) { target in
      let count = min(source.count, target.count)
      for index in 0..<count { target[index] = source[index] }
      return count
    }
  }
}

extension TLSSession {
  /// Takes all pending ciphertext.
  mutating func takeOutput() -> [UInt8] {
    var bytes: [UInt8] = []
    send { source in
      bytes = source.withUnsafeBytes { Array($0) }
      return source.count
    }
    return bytes
  }

  /// Receives all of `bytes`.
  mutating func put(_ bytes: [UInt8]) {
    receive(atMost: bytes.count) { target in
      for (index, byte) in bytes.enumerated() { target[index] = byte }
      return bytes.count
    }
  }

  /// Writes bytes that must all fit.
  mutating func writeAll(_ bytes: [UInt8]) throws -> Bool {
    try write(bytes.span) == .bytes(bytes.count)
  }

  /// Reads until nothing is left. Throws the session's final error.
  mutating func readAll() throws -> (bytes: [UInt8], closed: Bool) {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 10_000)
    while true {
      let step = try read(into: &buffer, 0..<buffer.count)
      switch step {
      case .bytes(let count): bytes += buffer[..<count]
      case .needsInput: return (bytes, false)
      case .closed: return (bytes, true)
      }
    }
  }
}

/// Whether a call has left something in this thread's error queue.
var openSSLErrorIsPending: Bool { ERR_peek_error() != 0 }
