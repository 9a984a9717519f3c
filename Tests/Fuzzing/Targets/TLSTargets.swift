import COpenSSL
import FuzzDriver

@testable import MigrationTLS

extension FuzzTarget {
  /// Records, and the keys of both ends.
  static let tls = [
    FuzzTarget("tls-server", "records to a server that has not shaken hands", longest: 1024, memory: 2048) { input in
      feed(input, to: contexts.server)
    },
    FuzzTarget("tls-client", "records to a client that has not shaken hands", longest: 1024, memory: 2048) { input in
      feed(input, to: contexts.client)
    },
    FuzzTarget("tls-session", "records between two ends that have shaken hands", longest: 16, memory: 4096) { input in
      TLSWalk.shared.run(InputBytes(input))
    },
    FuzzTarget(
      "tls-attack", "records that the network changes, each in a session of its own", longest: 64, memory: 4096
    ) { input in
      TLSWalk.shared.attack(InputBytes(input))
    },
    FuzzTarget("keys", "identities, certificates, and points of the curve", longest: 640, memory: 2048) {
      checkKeys($0)
    },
  ]
}

private struct Contexts: Sendable {
  let client: TLSContext
  let server: TLSContext
}

private let contexts: Contexts = {
  do {
    return Contexts(
      client: try TLSContext(role: .client, identity: .generate()),
      server: try TLSContext(role: .server, identity: .generate()))
  } catch { fatalError("\(error)") }
}()

/// Any records, in parts whose length is the first byte. No bytes make a session; the first error
/// stays; and what waits to be sent has its bound.
private func feed(_ input: ArraySlice<UInt8>, to context: TLSContext) {
  do throws(TLSError) {
    var session = try TLSSession(context, bufferSize: 20_000)
    let step = 1 + Int(input.first ?? 0) * 4
    var bytes = Array(input.dropFirst())
    var failure = handshakeFailure(&session)
    promise(failure == nil, "a handshake fails before it has begun")
    if context.role == .client { answer(&bytes, session.takeOutput()) }
    var rest = bytes[...]
    while !rest.isEmpty, failure == nil {
      session.put(Array(rest.prefix(step)))
      rest = rest.dropFirst(step)
      failure = handshakeFailure(&session)
      promise(session.pendingOutput <= 84_000, "too much waits to be sent")
    }
    session.transportEnded()
    failure = handshakeFailure(&session)
    promise(failure != nil, "a handshake succeeds, or waits behind the end")
    promise(handshakeFailure(&session)?.code == failure?.code, "the first error does not stay")
    promise(session.peerFingerprint == nil, "an end without a handshake is known")
  } catch { fatalError("\(error)") }
}

private func handshakeFailure(_ session: inout TLSSession) -> TLSError? {
  do throws(TLSError) {
    promise(try session.handshake() == .needsInput, "a handshake of any bytes is finished")
    return nil
  } catch { return error }
}

/// Gives a server's hello the session identifier that the client has just drawn: without it the
/// client looks no further.
private func answer(_ bytes: inout [UInt8], _ hello: [UInt8]) {
  let place = 5 + 4 + 2 + 32
  guard bytes.count > place + 33, bytes[0] == 22, bytes[5] == 2, bytes[place] == 32, hello.count > place + 33 else {
    return
  }
  bytes.replaceSubrange(place...place + 32, with: hello[place...place + 32])
}

/// An identity, a certificate or a point that can be read is written as the same.
private func checkKeys(_ input: ArraySlice<UInt8>) {
  let bytes = Array(input.dropFirst())
  do throws(TLSError) {
    switch (input.first ?? 0) % 3 {
    case 0:
      let identity = try Identity(encoded: bytes)
      // A key in PKCS #8 has several encodings. The program writes one of them.
      let encoded = try identity.encoded()
      let again = try Identity(encoded: encoded)
      promise(again.fingerprint == identity.fingerprint, "an identity is written as another one")
      promise(try again.encoded() == encoded, "an identity is written differently the second time")
    case 1:
      let certificate = try Certificate(der: bytes[...])
      try certificate.requireForm(bytes[...])
      _ = try certificate.fingerprint()
    default:
      let point = try curve.curve.point(share: bytes)
      promise(try curve.curve.encode(point) == bytes, "a point is written differently")
    }
  } catch {}
}

/// The curve, which every input uses: making it takes longer than reading a point.
private struct Curve: ~Copyable {
  let curve: P256

  init() {
    do throws(TLSError) { curve = try P256() } catch { fatalError("\(error)") }
  }
}
// Unsafe: a curve is no Sendable value, and this program has one thread.
nonisolated(unsafe) private let curve = Curve()
