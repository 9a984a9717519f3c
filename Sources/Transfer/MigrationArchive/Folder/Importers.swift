import MigrationSystem
package import MigrationWire

/// The importers of a receiver, one for each part of a plan. An `Importer` alone takes every part
/// of its kind.
package protocol Importers: AnyObject, Sendable {
  /// The staging area. Its place identifies this receiver from run to run.
  var area: StagingArea { get }
  /// The app whose data is requested; nil for folders, and for parts of several kinds.
  var request: AppRequest? { get }
  /// The places of a part's roots on this device, if the roots are keys.
  func places(of part: Part) -> RootDestinations?
  /// The name, the classes and the places of a part, by this device's own knowledge alone.
  func arrival(of part: Part) -> PartArrival
  /// The permit for the items of a part if its user takes these classes; nil if all items are
  /// taken.
  func permit(for part: Part, taking taken: ArrivalClasses) -> ArrivalPermit?
  /// The judge of a part before it begins. Throws the reason if no importer here takes the part.
  func judge(of part: Part) throws(Failure) -> any PartJudge
  /// The importer of a part that begins, or that an earlier run began. While it lives, it holds
  /// what the part needs, such as an app's lock.
  func importer(of part: Part) throws(Failure) -> any Importer
  /// The folder of the destination for what a device sends from now on; nil for the destination
  /// itself.
  func folder(for device: KeyFingerprint) throws(Failure) -> ArchivePath?
  /// These importers, for a folder of the destination.
  func within(_ folder: ArchivePath?) -> any Importers
  /// The seconds that a cancelled import may use for cleaning up.
  var graceAtTheEnd: Double { get }
}

extension Importers {
  package func places(of part: Part) -> RootDestinations? { nil }
  package func arrival(of part: Part) -> PartArrival { PartArrival(name: part.name, roots: [.files]) }
  package func permit(for part: Part, taking taken: ArrivalClasses) -> ArrivalPermit? { nil }
  package func folder(for device: KeyFingerprint) throws(Failure) -> ArchivePath? { nil }
  package func within(_ folder: ArchivePath?) -> any Importers { self }
}

/// Judges a part by its estimates. It writes nothing, and holds nothing that others need.
package protocol PartJudge: Sendable {
  /// How the user of this device treats existing names; nil if a transfer keeps its first setting.
  var existing: Existing? { get }
  /// The file system for the staged data; nil if it is unknown.
  var device: UInt64? { get }
  /// Checks an offer, of which `held` is already staged: names, space, fitness.
  func judge(_ offer: Offer, held: Tally, on terms: TransferTerms) throws(Failure) -> OfferCheck
  /// The roots that cannot arrive, by their positions, with the reasons.
  func unplaceable(_ roots: [Root]) throws(Failure) -> [(root: Int, reason: Failure)]
}

extension PartJudge {
  package func unplaceable(_ roots: [Root]) throws(Failure) -> [(root: Int, reason: Failure)] { [] }

  /// Fixes the terms for all sessions of a new transfer.
  package func terms(of transfer: TransferID, keys: TransferKeys) -> TransferTerms {
    TransferTerms(transfer: transfer, keys: keys, existing: existing ?? .refuse)
  }
}

extension Importer {
  package var device: UInt64? { try? area.status().device }

  package func judge(of part: Part) throws(Failure) -> any PartJudge { try importer(of: part) }

  package func importer(of part: Part) throws(Failure) -> any Importer {
    switch part.contents {
    case .folders, .app: return self
    case .role, .files, .unknown: throw Failure(notTaken: part)
    }
  }
}

extension Failure {
  /// No importer here takes such a part.
  package init(notTaken part: Part) {
    switch part.contents {
    case .unknown:
      self.init(.unknownKind, "the other device offers \(VisibleText.of(part.name)), which this one does not know")
    case .role(let role, _) where role != Part.home:
      self.init(
        .unknownKind,
        "the other device offers folders of the role \(VisibleText.of(role)), which this one does not know")
    case .folders, .role, .app, .files:
      self.init(
        .otherApp, "the other device offers \(VisibleText.of(part.name)), and this one does not take it",
        hint: "Start 'peer receive' with --everything on the receiving device.")
    }
  }
}

/// The target of a transfer's items after the staging area: a folder, or an app's importer.
///
/// A worker of a session calls `judge` before the user is asked, and `present` when the transfer is
/// staged. A worker of a transfer calls `recover` at the start of a run, and `importItems` at the
/// end. Any thread may call `interrupt`.
package protocol Importer: Importers, PartJudge {
  /// The existing items of a judged offer that the destination keeps unchanged. Slow: it examines
  /// every name, once a session. With `takesBases`, the sender can send newer versions of files as
  /// differences.
  func present(
    _ offer: Offer, for staging: Staging, takesBases: Bool
  ) throws(Failure) -> PresentItems
  /// The state of a transfer's import that is known apart from the journal.
  func fate(of transfer: TransferID) -> Staging.ImportFate
  /// Moves the verified contents of the staging directory to the destination, durably.
  func importItems(
    of staging: Staging, progress: (ImportProgress) -> Void
  ) throws(Failure) -> [Done.Loss]
  /// Everything is imported, and the result recorded: releases what only the import needed.
  func letGo()
  /// Stops at the user's request: cancels a running import if it can be undone.
  func interrupt()
}

extension Importer {
  package var graceAtTheEnd: Double { 0 }
  package func fate(of transfer: TransferID) -> Staging.ImportFate { .told }
  package func letGo() {}

  /// Recovers the data staged by an earlier run; nil if there is none.
  ///
  /// Throws a `Failure`, with the code `journal` if the data cannot be trusted.
  package func recover(_ offer: Offer, transfer: TransferID, keys: TransferKeys) throws -> Staging? {
    try area.recover(offer, transfer: transfer, keys: keys, existing: existing, import: fate(of: transfer))
  }
}

/// The terms that the receiver fixes when a transfer begins; they hold for all its sessions.
package struct TransferTerms: Equatable, Sendable {
  package let transfer: TransferID
  package let keys: TransferKeys
  /// How items are treated whose names are taken at the destination.
  package let existing: Existing
}

/// The acceptance of an offer, with the facts found during the check.
package struct OfferCheck: Sendable {
  /// The free space, for people.
  package let availableBytes: UInt64?
  /// The most bytes accepted of a transfer that may exceed its offer; nil for other transfers.
  package var mostBytes: UInt64?
}
