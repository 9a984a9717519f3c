import MigrationTLS
package import MigrationWire

/// A device's record of an unfinished transfer.
package struct RememberedTransfer: Equatable, Sendable {
  /// A receiver's half of it.
  package struct Destination: Equatable, Sendable {
    /// The absolute path of the destination.
    package let path: [UInt8]
    /// The port where this device listened.
    package let port: UInt16
    package let keys: TransferKeys
    /// The first offer.
    package let offer: Offer
  }

  package struct Finished: Equatable, Sendable {
    package let done: Done
    /// In seconds since 1970.
    package let at: Int64
  }

  /// The transfer's subject on this device.
  package enum Subject: Equatable, Sendable {
    /// The absolute paths of the sources, ascending.
    case sources([[UInt8]])
    case destination(Destination)
  }

  package let transfer: TransferID
  package let role: Role
  /// This device's key, as `Identity` encodes it.
  package let identity: [UInt8]
  /// The other device's key: the pin.
  package let peer: KeyFingerprint
  /// The other device's label.
  package let label: String
  /// The other device's last address.
  package var address: String
  /// In seconds since 1970.
  package let started: Int64
  package var lastSeen: Int64
  package var total: Tally
  package var held: Tally
  /// The number of items that could not be sent, at the last count.
  package var unsent: UInt64 = 0
  /// The number of items left out since the destination cannot hold them, at the last count.
  package var withheld: UInt64 = 0
  /// The named items that are not stored: those that the sender left out, from FINISH on, and all
  /// of them, once everything is imported.
  package var notStored: [Refusal] = []
  /// The end of the transfer: at a receiver a tombstone for a sender that missed the answer, at a
  /// sender the receiver's DONE.
  package var done: Finished?
  package var subject: Subject

  package var sources: [[UInt8]]? { if case .sources(let sources) = subject { sources } else { nil } }

  package var destination: Destination? {
    get { if case .destination(let destination) = subject { destination } else { nil } }
    set { if let newValue { subject = .destination(newValue) } }
  }
}
