import MigrationDiscovery
package import MigrationEngine
import MigrationSystem
import MigrationTransfer
package import MigrationWire

/// A path on this device or inside a transfer: bytes, which need not be text.
///
/// A string literal is a path, and the text of any path can be one: `PeerPath(url.path)`.
public struct PeerPath: Hashable, Sendable, ExpressibleByStringLiteral {
  /// The bytes in the file system.
  public let bytes: [UInt8]

  /// A path in UTF-8.
  public init(_ text: String) { bytes = Array(text.utf8) }

  /// A path from the bytes in the file system.
  public init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

  /// The exact path as text; nil if it is not UTF-8.
  public var text: String? { String(validating: bytes, as: UTF8.self) }

  /// A path in UTF-8.
  public init(stringLiteral text: String) { self.init(text) }
}

extension PeerPath: CustomStringConvertible {
  /// The path in a form that is safe to show: the other device may have chosen its name, so
  /// characters that could mislead a reader or control a terminal are escaped. To build other
  /// paths, use `text` or `bytes`.
  public var description: String { VisibleText.of(bytes) }
}

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

/// Another device: its name and its address. Neither proves its identity; only the code does.
public struct PeerDevice: Hashable, Sendable {
  /// The name that it gives itself, unchanged; nil if it is unknown. To show it, use `description`.
  public let name: String?
  /// The most useful of its numeric addresses, or the name that the user gave.
  public let host: String
  /// Its port; nil if it is unknown.
  public let port: UInt16?
  /// The number of the run that uses the name, if the device has announced it.
  private let instance: UInt64?
  /// The device as a search found it, with all addresses.
  let found: NearbyDevice?

  init(name: String?, host: String, port: UInt16? = nil, instance: UInt64? = nil, found: NearbyDevice? = nil) {
    self.name = name
    self.host = host
    self.port = port
    self.instance = instance
    self.found = found
  }

  init(_ device: DeviceAddress) {
    self.init(name: device.name, host: device.host, port: device.port, instance: device.instance)
  }

  /// Nil for a device without an address.
  init?(_ found: NearbyDevice) {
    guard let address = found.addresses.first else { return nil }
    self.init(
      name: found.label, host: address.hostDescription, port: address.port, instance: found.instance, found: found)
  }
}

extension PeerDevice: CustomStringConvertible {
  /// Name and address, safe to show: `new-laptop (192.0.2.7)`.
  public var description: String { DeviceAddress(name: name, host: host, port: port ?? 0).shown }
}

/// The contents of a transfer, as the sender has announced them.
public struct PeerOffer: Equatable, Sendable {
  /// The names of the files and folders. An app's data has the app's identifier as its name.
  public let names: [PeerPath]
  public let items: UInt64
  /// The sum of the files' sizes.
  public let bytes: UInt64
  /// The free space at the destination; nil on the sender.
  public let availableBytes: UInt64?

  package init(_ offer: Offer, availableBytes: UInt64?) {
    names =
      switch offer.contents {
      case .folders(let roots), .role(_, let roots), .unknown(_, _, let roots, _):
        roots.map { PeerPath(bytes: $0.name) }
      case .app(let app): [PeerPath(app.bundleIdentifier)]
      case .files(let app, _): [PeerPath(app)]
      }
    items = offer.items
    bytes = offer.bytes
    self.availableBytes = availableBytes
  }
}

/// The progress of a whole transfer, including the data of earlier sessions.
public struct PeerProgress: Equatable, Sendable {
  /// A part of a transfer, with the same name on both sides.
  public enum Phase: String, Sendable, CaseIterable {
    /// The devices authenticate each other.
    case pairing
    /// The receiver checks the offer, or the data that it has already.
    case checking
    /// Data is sent.
    case sending
    /// Data is received.
    case receiving
    /// All data has arrived, and is compared with the sender's.
    case verifying
    /// The data is put in place.
    case importing
  }

  public let phase: Phase
  public let bytes: UInt64
  /// Nil if an app's data is larger than its exporter's estimate.
  public let totalBytes: UInt64?
  public let items: UInt64
  public let totalItems: UInt64
  /// The progress of the phase itself, from 0 to 1, if it differs from the share of received data.
  public let phaseFraction: Double?

  package init(_ progress: TransferProgress) {
    // The names are the same.
    phase = Phase(rawValue: progress.phase.rawValue) ?? .sending
    bytes = progress.bytes
    totalBytes = progress.totalBytes
    items = progress.items
    totalItems = progress.totalItems
    phaseFraction = progress.phaseFraction
  }
}

/// The result of a completed transfer. Both devices have the same figures.
public struct PeerResult: Equatable, Sendable {
  /// Files, directories and links that were transferred.
  public let items: UInt64
  /// The sum of the files' sizes.
  public let bytes: UInt64
  /// The bytes of the files that crossed the network in this run, without holes and without data
  /// that had arrived before.
  public let sentBytes: UInt64
  /// The bytes that compression saved on the network in this run.
  public let savedBytes: UInt64
  /// The bytes that had arrived in earlier sessions when the last one began.
  public let heldBytes: UInt64
  /// The time from the first byte of data to the last message.
  public let duration: Duration
  /// Items of the source that could not be sent, including sockets, pipes and devices, which are
  /// never sent.
  public let unsent: UInt64
  /// Items that the destination could not store.
  public let notStored: UInt64
  /// Items that existed already; see ``PeerReceiver/Existing/skip``.
  public let present: UInt64
  /// Items that were omitted because something else has their names at the destination.
  public let differing: UInt64
  /// Whether an earlier run had concluded the transfer: nothing was sent in this one. Newer data
  /// needs another transfer.
  public let isOfEarlierRun: Bool
  /// Whether everything arrived that should have; sockets and similar items do not count. If false,
  /// the command's exit code is 8.
  public let isComplete: Bool

  package init(_ result: TransferResult, isComplete: Bool) {
    items = result.total.items
    bytes = result.total.bytes
    sentBytes = result.sentBytes
    savedBytes = result.savedBytes
    heldBytes = result.heldBytes
    duration = .seconds(result.seconds)
    unsent = result.unsent
    notStored = result.notStored
    present = result.leftOut.present
    differing = result.leftOut.differing
    isOfEarlierRun = result.concludedAt != nil
    self.isComplete = isComplete
  }
}

/// The failure of a transfer, or of the wait for one.
public struct PeerError: Error, Equatable, Sendable {
  /// The kinds of failure. The raw value is the exit code of the command `peer`.
  public enum Kind: Int32, Sendable, CaseIterable {
    /// A failure here or on the other device; after a disk error, the received data is kept.
    case failed = 1
    /// The request is invalid, or a source does not exist.
    case usage = 2
    /// The devices are not paired: no code, a wrong code, or another device.
    case pairing = 3
    /// The other device refused, or the destination or the directory for unfinished transfers
    /// cannot be used.
    case refused = 4
    /// The other device cannot be reached, the connection was lost and did not return, or the other
    /// device's user interrupted the transfer.
    case connectionLost = 5
    /// There is not enough space at the destination.
    case noSpace = 6
    /// All data has arrived, but could not be put in place.
    case importFailed = 7
    /// The source could not be read completely.
    case exportFailed = 9
    /// The other device serves others first.
    case busy = 10
    /// The task was cancelled.
    case interrupted = 130
  }

  /// The kind of failure.
  public let kind: Kind
  /// The cause, as a lower-case clause that is safe to show: text from the other device is escaped.
  public let message: String
  /// A sentence that tells what to do, if anything can be done. It is for the user of a device, and
  /// names options of the command `peer`, such as `--existing`; the options of this library have
  /// the same names.
  public let hint: String?

  package init(_ kind: Kind, _ message: String, hint: String? = nil) {
    self.kind = kind
    self.message = message
    self.hint = hint
  }

  package init(_ failure: Failure) {
    // The kinds have the same numbers, but for the signals, of which a program has none.
    self.init(Kind(rawValue: failure.kind.rawValue) ?? .interrupted, failure.message, hint: failure.hint)
  }

  /// The exit code of the command after such a failure.
  public var exitCode: Int32 { kind.rawValue }
}

extension PeerError: CustomStringConvertible {
  public var description: String { message }
}
