package import MigrationWire

/// The values of the receiver's events and actions.
extension ReceiverEngine {
  /// A transfer of an earlier run at this destination.
  package struct EarlierTransfer: Sendable {
    package let identifier: TransferID
    /// The sender's key: the pin.
    package let client: KeyFingerprint
    /// The sender's last address without the port, where it is known.
    package let host: String?
    package let plan: Plan
    package let parts: [PartRecord]
    /// The part that ran last. The members below are about it.
    package let part: UInt16
    /// The amount of staged data.
    package let held: Tally
    /// The named items that the destination cannot store.
    package let refusals: [NotStored]
    /// The total of a part that had arrived completely: its import continues.
    package let concluded: Tally?
    /// Whether this process has locked the transfer; otherwise only the remembered facts are known,
    /// and more may be staged.
    package let isHeld: Bool
    /// Whether more of it may be staged than `held` counts.
    package let hasMore: Bool

    package init(
      identifier: TransferID, client: KeyFingerprint, host: String? = nil, plan: Plan,
      parts: [PartRecord]? = nil, part: UInt16 = 0, held: Tally = Tally(), refusals: [NotStored] = [],
      concluded: Tally? = nil, isHeld: Bool = true, hasMore: Bool = false
    ) {
      self.identifier = identifier
      self.client = client
      self.host = host
      self.plan = plan
      self.parts = parts ?? plan.parts.map { _ in PartRecord() }
      self.part = part
      self.held = held
      self.refusals = refusals
      self.concluded = concluded
      self.isHeld = isHeld
      self.hasMore = hasMore
    }
  }

  /// How the parts of a plan were judged, by their numbers.
  package typealias PlanJudgement = [UInt16: Result<Examination, Failure>]

  /// The result of an examination of a part that can be taken.
  package struct Examination: Equatable, Sendable {
    /// How much room there is, for people.
    package let availableBytes: UInt64?

    /// The most bytes accepted of a part that may exceed its announced size; nil for any other.
    package let mostBytes: UInt64?

    /// The roots that cannot arrive, or that the user does not take, in ascending order.
    package var without: [RefusedRoot]

    /// The receiver's view of the part; nil if its user has taken the part already.
    package var arrival: PartArrival?

    package init(
      availableBytes: UInt64?, mostBytes: UInt64? = nil, without: [RefusedRoot] = [], arrival: PartArrival? = nil
    ) {
      self.arrival = arrival
      self.availableBytes = availableBytes
      self.mostBytes = mostBytes
      self.without = without
    }
  }

  /// A root that is left out of a part that is taken.
  package struct RefusedRoot: Equatable, Sendable {
    /// Its position among the roots of the part.
    package let root: UInt32
    package let fault: Failure

    package init(root: UInt32, fault: Failure) {
      self.root = root
      self.fault = fault
    }
  }

  /// The facts with which an accepted part begins.
  package struct Admitted: Sendable {
    /// The answer to the offer.
    package let accept: Accept
    package let held: Tally
    /// The named items of earlier sessions that the destination cannot store; nil where the engine
    /// knows them. The worker of the import of a concluded part reports them.
    package let refusals: [NotStored]?
    /// The total of a part that had arrived completely, and whose import is tried again.
    package let concluded: Tally?

    package init(_ accept: Accept, held: Tally, refusals: [NotStored]? = nil, concluded: Tally? = nil) {
      self.accept = accept
      self.held = held
      self.refusals = refusals
      self.concluded = concluded
    }
  }

  /// How a data stream ended.
  package enum StreamEnd: Equatable, Sendable {
    /// By END, because it was told to end, or because its connection was cut: another stream may
    /// replace it.
    case over
    /// The sender cannot repair it.
    case failed(Failure)
  }

  /// A part that cannot be taken, for the question to the user.
  package struct RefusedPart: Equatable, Sendable {
    package let part: Part
    package let fault: Failure

    package init(_ part: Part, _ fault: Failure) { (self.part, self.fault) = (part, fault) }
  }

  /// A part that could be taken, for the question to the user.
  package struct WantedPart: Equatable, Sendable {
    package let number: UInt16
    package let part: Part
    /// The part by its estimates.
    package let offer: Offer
    package let room: Examination
  }

  /// The values that the record of a plan has.
  package struct PlanRecord: Sendable {
    package let transfer: TransferID
    package let client: KeyFingerprint
    package let plan: Plan
    /// The answers of a person.
    package let consent: Consent
    /// The other device's label and address.
    package let label: String
    package let address: String
    /// Whether both users want to keep the pairing.
    package let keepsPairing: Bool
    /// Whether its key was that of a known device when it connected.
    package let isOfDevice: Bool
  }

  /// The parameters that a session needs once a part is offered.
  package struct StagingOrder: Sendable {
    package let transfer: TransferID
    package let part: UInt16
    package let offer: Offer
    package let held: Tally
    /// The classes of items to take; nil for the classes that the part began with, or for all.
    package let taken: ArrivalClasses?
    /// Whether the sender may compress.
    package let isCompressible: Bool
    /// Whether the sender can send newer versions of files as differences.
    package let takesBases: Bool
  }
}

/// The sender's plan, as the question to this device's user shows it. Texts are exact; the asker
/// escapes them.
package struct ConsentQuestion: Equatable, Sendable {
  /// The parts that can be taken.
  package let parts: [ReceiverEngine.WantedPart]
  /// The others that were judged, and why they cannot be taken.
  package let refused: [ReceiverEngine.RefusedPart]
  /// How many parts the plan has.
  package let planned: Int
  /// The other device's label.
  package let label: String
  package let address: String
  /// The earlier answers of a person.
  package let answers: Consent
  /// Whether the device is known from an earlier transfer.
  package let isLater: Bool
}

/// The addresses of a receiver: host texts without a port, most useful first.
package struct Listening: Equatable, Sendable {
  /// All addresses.
  package let addresses: [String]
  /// The addresses that are worth showing to a person.
  package let shown: [String]
  package let port: UInt16
  /// The ranges of addresses that may pair, for people; empty where every sender may.
  package let from: [String]
  /// Whether senders in the same network find this device without an address.
  package let isAnnounced: Bool
  /// Whether all these addresses belong to tunnels, such as a VPN's.
  package let isInTunnels: Bool

  /// `shown` (default: all addresses) are the addresses for people.
  package init(
    addresses: [String], shown: [String]? = nil, port: UInt16, from: [String] = [], isAnnounced: Bool = false,
    isInTunnels: Bool = false
  ) {
    self.addresses = addresses
    self.shown = shown ?? addresses
    self.port = port
    self.from = from
    self.isAnnounced = isAnnounced
    self.isInTunnels = isInTunnels
  }

  /// The notice for the user of a device that only tunnels reach.
  package static let tunnelNotice = """
    the only address of this device is a VPN's, and only devices in the same VPN reach it: turn the VPN off on this \
    device, or join it on the other one
    """
}
