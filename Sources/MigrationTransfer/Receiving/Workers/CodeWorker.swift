import MigrationEngine
import MigrationSystem
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
    return WorkerReport(.codeMade(.success(code)), bringing: .secret(try code.stretched()))
  }
}

extension PairingCode {
  /// The secret that it stands for; leaves no text of the code.
  func stretched() throws(TLSError) -> PairingSecret {
    var digits = digits
    defer { cleanse(&digits) }
    return try PairingSecret.scalar(fromDigits: digits)
  }
}
