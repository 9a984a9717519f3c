import COpenSSL
import Glibc
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTLS

/// Threads may use OpenSSL until their process has ended, also while it runs what `atexit` got.
@Suite struct ExitTests {
  /// Each function with which the use of OpenSSL may begin.
  enum Beginning {
    case random, digest, authentication, sealing, drawing, curve, stretching, code, key, reading, context
    case identity, stored

    func use() throws {
      switch self {
      case .random: _ = randomBytes(1)
      case .digest: _ = sha256([UInt8]().span.bytes)
      case .authentication: _ = hmac(key: [UInt8]().span.bytes, message: [UInt8]().span.bytes)
      case .sealing:
        let key = SealingKey(SecretBytes(zeros: SealingKey.byteCount))
        _ = try key.open([UInt8](repeating: 0, count: 64)[...], for: [])
      case .drawing: _ = SealingKey.drawn()
      case .curve: _ = try P256()
      case .stretching: _ = try PairingSecret.stretch(Array("12345678".utf8))
      case .code: _ = try PairingSecret.scalar(fromDigits: Array("12345678".utf8))
      case .key: _ = try PrivateKey.generate()
      case .reading: _ = try? PrivateKey(pkcs8: [0])
      case .context: _ = try TLSContext(role: .client, showing: nil)
      case .identity: _ = try Identity.generate()
      case .stored: _ = try? Identity(encoded: [0])
      }
    }

    /// Ends the process after it.
    func leave() throws -> Never {
      alarm(UInt32(patience))
      // Runs after what OpenSSL may register from now on.
      atexit { _exit(OPENSSL_init_crypto(0, nil) == 1 ? 42 : 1) }
      try use()
      exit(0)
    }
  }

  @Test func `OpenSSL stays when the process exits`() async {
    await #expect(processExitsWith: .exitCode(42)) { try Beginning.random.leave() }
    await #expect(processExitsWith: .exitCode(42)) { try Beginning.digest.leave() }
    await #expect(processExitsWith: .exitCode(42)) { try Beginning.authentication.leave() }
    await #expect(processExitsWith: .exitCode(42)) { try Beginning.sealing.leave() }
    await #expect(processExitsWith: .exitCode(42)) { try Beginning.drawing.leave() }
    await #expect(processExitsWith: .exitCode(42)) { try Beginning.curve.leave() }
    await #expect(processExitsWith: .exitCode(42)) { try Beginning.stretching.leave() }
    await #expect(processExitsWith: .exitCode(42)) { try Beginning.code.leave() }
    await #expect(processExitsWith: .exitCode(42)) { try Beginning.key.leave() }
    await #expect(processExitsWith: .exitCode(42)) { try Beginning.reading.leave() }
    await #expect(processExitsWith: .exitCode(42)) { try Beginning.context.leave() }
    await #expect(processExitsWith: .exitCode(42)) { try Beginning.identity.leave() }
    await #expect(processExitsWith: .exitCode(42)) { try Beginning.stored.leave() }
  }
}
