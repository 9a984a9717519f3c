import MigrationSystem
package import MigrationWire

/// The importers of a receiver, one for each part of a plan. An `Importer` alone takes every part
/// of its kind.
package protocol Importers: AnyObject, Sendable {
  /// The area whose place tells this receiver from others, from run to run.
  var area: StagingArea { get }
  /// The app whose data is requested; nil for folders, and for parts of several kinds.
  var request: AppRequest? { get }
  /// The judge of a part before it begins. Throws the reason if no importer here takes the part.
  func judge(of part: Part) throws(ArchiveError) -> any PartJudge
  /// The importer of a part that begins, or that an earlier run began. While it lives, it holds
  /// what the part needs, such as an app's lock.
  func importer(of part: Part) throws(ArchiveError) -> any Importer
  /// The folder of the destination for what a device sends from now on; nil for the destination
  /// itself.
  func folder(for device: KeyFingerprint) throws(ArchiveError) -> ArchivePath?
  /// These importers, for a folder of the destination.
  func within(_ folder: ArchivePath?) -> any Importers
  /// The seconds that a cancelled import may use for cleaning up.
  var graceAtTheEnd: Double { get }
}

extension Importers {
  package func folder(for device: KeyFingerprint) throws(ArchiveError) -> ArchivePath? { nil }
  package func within(_ folder: ArchivePath?) -> any Importers { self }
}

/// Judges a part by its estimates. It writes nothing, and holds nothing that others need.
package protocol PartJudge: Sendable {
  /// How the user of this device treats existing names; nil if a transfer keeps its first setting.
  var existing: Existing? { get }
  /// The file system for the staged data; nil if it is unknown.
  var device: UInt64? { get }
  /// Checks an offer, of which `held` is already staged: names, space, fitness.
  func judge(_ offer: Offer, held: Tally, on terms: TransferTerms) throws(ArchiveError) -> OfferCheck
  /// The roots that cannot arrive, by their positions, with the reasons.
  func unplaceable(_ roots: [Root]) throws(ArchiveError) -> [(root: Int, reason: ArchiveError)]
}

extension PartJudge {
  package func unplaceable(_ roots: [Root]) throws(ArchiveError) -> [(root: Int, reason: ArchiveError)] { [] }

  /// Fixes the terms for all sessions of a new transfer.
  package func terms(of transfer: TransferID, keys: TransferKeys) -> TransferTerms {
    TransferTerms(transfer: transfer, keys: keys, existing: existing ?? .refuse)
  }
}

extension Importer {
  package var device: UInt64? { try? area.status().device }

  package func judge(of part: Part) throws(ArchiveError) -> any PartJudge { try importer(of: part) }

  package func importer(of part: Part) throws(ArchiveError) -> any Importer {
    switch part.contents {
    case .folders, .app: return self
    case .role, .files, .unknown: throw ArchiveError(notTaken: part)
    }
  }
}

extension ArchiveError {
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
