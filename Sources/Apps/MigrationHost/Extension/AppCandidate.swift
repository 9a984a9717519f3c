package import MigrationArchive
import MigrationSystem
package import MigrationWire

/// An installed app that may receive a part of a plan: judges the part without the app's lock, and
/// without a process of the app's extension.
package struct AppCandidate: PartJudge {
  private let app: InstalledApp
  private let area: StagingArea
  private let options: AppImporter.Options

  /// Fails if the app is not installed, is in use, or has no migration extension.
  package init(_ app: AppIdentity, in home: AppHome, options: AppImporter.Options) throws(Failure) {
    self.options = options
    do throws(Failure) {
      self.app = try home.appAccepting(app)
      _ = try self.app.bundle.extensionToMigrate()
      if let holder = try self.app.holder() { throw Failure.inUse(self.app.identifier, by: holder) }
    } catch {
      throw error.ofPart
    }
    area = try StagingArea(at: Array(home.path.utf8), atMost: options.most)
  }

  package var existing: Existing? { nil }
  package var device: UInt64? { try? area.status().device }

  package func judge(_ offer: Offer, held: Tally, on terms: TransferTerms) throws(Failure) -> OfferCheck {
    if case .app(let identity) = offer.contents {
      try app.checkAcceptance(of: identity, options)
    }
    try area.checkSize(of: offer)
    return try area.judgeRoom(for: offer, held: held)
  }
}
