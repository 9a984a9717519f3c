import MigrationTransfer
package import MigrationWire

/// The eight digits by which two devices become sure of each other. The receiver has them first; a person carries them over.
///
/// A code is a secret until it is used: not for logs, arguments or environments of processes.
public struct PeerCode: Hashable, Sendable {
  package let pairing: PairingCode

  package init(_ pairing: PairingCode) { self.pairing = pairing }

  /// Reads what a person typed. Blanks and dashes do not count.
  ///
  /// - Throws: ``PeerError/Kind/pairing``, where it is no code, or one digit is wrong or two are swapped, as the last digit tells.
  public init(_ typed: String) throws(PeerError) {
    do throws(PairingCode.Mistake) {
      pairing = try PairingCode(typed: Array(typed.utf8))
    } catch {
      let message =
        switch error {
        case .malformed: "this is no code: it has eight digits"
        case .mistyped: "this is no valid code: one digit is wrong or two are swapped"
        }
      throw PeerError(.pairing, message, hint: "Check the code shown on the other device.")
    }
  }

  /// A code that no other program knows, for a program that starts both ends: see ``PeerReceiver/Options/code``.
  public static func random() -> PeerCode { PeerCode(.random()) }

  public func hash(into hasher: inout Hasher) { hasher.combine(pairing.digits) }
}

extension PeerCode: CustomStringConvertible {
  /// As it is shown to a person: `4829-1367`.
  public var description: String { pairing.shown }
}
