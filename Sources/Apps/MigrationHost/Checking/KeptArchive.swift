package import MigrationArchive
package import MigrationSystem
package import MigrationWire

/// A folder with the items of an archive, in the place of an exporter: for an author's trial of an
/// importer.
package final class KeptArchive: ItemSource {
  private let path: [UInt8]
  private let identity: AppIdentity
  /// The longest delay after the end of the transfer.
  private static let pause = Duration.milliseconds(50)

  /// - Parameters:
  ///   - identifier: the app that is to have exported the archive.
  ///   - version: its `resourcesVersion`.
  package init(at path: [UInt8], of identifier: String, version: String, claim: SourceClaim?) {
    self.path = path
    identity = (claim ?? SourceClaim(platform: AppSource.platform)).identity(of: identifier, version: version)
  }

  package func origin() throws(Failure) -> [[UInt8]] { [AppSource.origin(of: identity.bundleIdentifier)] }

  private func open() throws(Failure) -> SharedDirectory {
    try Failure.wrapping(
      .source, "the archive \(VisibleText.quoted(path)) cannot be opened", name: path,
      SharedDirectory(Directory.open(path)))
  }

  package func prepare(until stop: StopSignal) throws(Failure) -> SourceSummary {
    let tree = try SourceWalk.walk(contentsOf: open()) { stop.isSet }
    return SourceSummary(
      contents: .app(identity), total: tree.total, allocated: tree.allocated, isEstimate: true, isCompressible: true)
  }

  package func export(
    _ settings: ExportSettings, for request: AppRequest?, begin: (any FrameSource) -> Void
  ) throws(Failure) -> ExportResult {
    let readCount = Condition(0)
    let archive = ArchiveExport<RealDirectory>(settings) {
      readCount.withLock { $0 += 1 }
      readCount.broadcast()
    }
    begin(archive)
    let appender = ItemAppender(export: archive)
    let directory = try open()
    for name in try Failure.wrapping(.source, "the archive cannot be read", name: path, directory.directory.names()) {
      guard let append = try Self.append(name, of: directory, to: appender) else { continue }
      while !appender.isRead(append) {
        try archive.check()
        if archive.isStopped { throw Failure(.stopped, "the transfer has ended") }
        let seen = readCount.withLock { $0 }
        if !appender.isRead(append) {
          _ = readCount.wait(until: BootInstant.now().advanced(by: Self.pause)) { $0 == seen ? nil : true }
        }
      }
      try appender.end(append)
    }
    appender.finish()
    try archive.waitUntilRead()
    return archive.result
  }

  /// Nil for a link, which needs no reading.
  private static func append(
    _ name: [UInt8], of directory: SharedDirectory, to appender: ItemAppender
  ) throws(Failure) -> ItemAppender.Append? {
    let words = "\(VisibleText.quoted(name)) of the archive cannot be read"
    let status = try Failure.wrapping(.source, words, name: name, directory.directory.status(name))
    switch status.kind {
    case .symbolicLink:
      let target = try Failure.wrapping(.source, words, name: name, directory.directory.readLink(name))
      try appender.appendLink(target: target, modified: ItemTime(status.modified), at: name)
      return nil
    case .directory:
      let folder = try Failure.wrapping(
        .source, words, name: name, directory.directory.openChildDirectory(name).release())
      return try appender.begin(folder, at: name)
    default:
      let file = try Failure.wrapping(.source, words, name: name, directory.directory.openChild(name))
      return try appender.begin(file, at: name)
    }
  }
}
