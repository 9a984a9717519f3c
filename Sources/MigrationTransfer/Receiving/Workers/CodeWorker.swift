import MigrationEngine
import MigrationTLS
import MigrationWire

/// Makes codes. The slow derivation runs once a code, before the code is shown, and never on a connection's path.
enum CodeWorker {
  static func run() throws -> WorkerReport {
    let code = PairingCode(number: UInt32(randomSevenDigitNumber()))
    let secret = try PairingSecret.scalar(fromDigits: code.digits)
    return WorkerReport(.codeMade(.success(code)), bringing: .secret(secret))
  }
}
