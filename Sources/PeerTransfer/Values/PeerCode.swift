import MigrationTransfer
package import MigrationWire

/// The eight digits with which two devices authenticate each other. The receiver has them
/// first; a person types them on the other device.
///
/// A code is a secret until it is used: keep it out of logs, arguments and environments of
/// processes.
public struct PeerCode: Hashable, Sendable {
  package let pairing: PairingCode

  package init(_ pairing: PairingCode) { self.pairing = pairing }

  /// Reads a typed code. Blanks and dashes do not count.
  ///
  /// - Throws: ``PeerError/Kind/pairing`` if it is not a code, or if the last digit shows that one
  ///   digit is wrong or two are swapped.
  public init(_ typed: String) throws(PeerError) {
    do throws(PairingCode.Mistake) {
      pairing = try PairingCode(typed: typed.utf8.span)
    } catch {
      let message =
        switch error {
        case .malformed: "this is not a code: a code has eight digits"
        case .mistyped: "this is not a valid code: one digit is wrong, or two are swapped"
        }
      throw PeerError(.pairing, message, hint: "Check the code shown on the other device.")
    }
  }

  /// A random code, for a program that starts both ends: see ``PeerReceiver/Options/code``.
  public static func random() -> PeerCode { PeerCode(.random()) }

  public func hash(into hasher: inout Hasher) { hasher.combine(pairing) }
}

extension PeerCode: CustomStringConvertible {
  /// The form for a person: `4829-1367`.
  public var description: String { pairing.shown }
}
