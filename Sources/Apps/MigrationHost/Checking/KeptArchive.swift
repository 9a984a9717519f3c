package import MigrationArchive
package import MigrationSystem
package import MigrationWire

/// A folder with the items of an archive, in the place of an exporter: for an author's trial of an
/// importer.
package final class KeptArchive: ItemSource {
  private let identity: AppIdentity
  private let items: FolderSource

  /// - Parameters:
  ///   - identifier: the app that is to have exported the archive.
  ///   - version: its `resourcesVersion`.
  package init(at path: [UInt8], of identifier: String, version: String, claim: SourceClaim?) throws(Failure) {
    identity = (claim ?? SourceClaim(platform: AppSource.platform)).identity(of: identifier, version: version)
    let folder = try Failure.wrapping(
      .source, "the archive \(VisibleText.quoted(path)) cannot be opened", name: path,
      SharedDirectory(Directory.open(path)))
    let names = try Failure.wrapping(.source, "the archive cannot be read", name: path, folder.directory.names())
    var roots: [SourceRoot] = []
    for name in names { roots.append(try SourceRoot(name, beneath: folder, as: name)) }
    items = try FolderSource(roots: roots, selecting: Selection())
  }

  package func origin() throws(Failure) -> [[UInt8]] { [AppSource.origin(of: identity.bundleIdentifier)] }

  package func prepare(until stop: StopSignal) throws(Failure) -> SourceSummary {
    let found = try items.prepare(until: stop)
    return SourceSummary(contents: .app(identity), total: found.total, allocated: found.allocated, isEstimate: true)
  }

  package func export(
    _ settings: ExportSettings, for request: AppRequest?, begin: (any FrameSource) -> Void
  ) throws(Failure) -> ExportResult {
    let result = try items.export(settings, for: request, begin: begin)
    // An importer gets everything, or nothing.
    guard result.finish.unsent == 0 else {
      throw Failure(.source, "the archive has \(Figures.count(result.finish.unsent, "item")) that cannot be sent")
    }
    return result
  }
}
