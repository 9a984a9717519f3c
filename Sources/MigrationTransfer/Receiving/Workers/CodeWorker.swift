import MigrationEngine
import MigrationTLS
package import MigrationWire

extension PairingCode {
  /// A code that no other program knows.
  package static func random() -> PairingCode { PairingCode(number: UInt32(randomSevenDigitNumber())) }
}

/// Makes codes, or makes the given one ready. The slow derivation runs once a code, before the code
/// is shown, and never on a connection's path.
enum CodeWorker {
  static func run(_ given: PairingCode?) throws -> WorkerReport {
    let code = given ?? .random()
    let secret = try PairingSecret.scalar(fromDigits: code.digits)
    return WorkerReport(.codeMade(.success(code)), bringing: .secret(secret))
  }
}
