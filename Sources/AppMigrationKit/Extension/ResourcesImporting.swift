/// An extension that takes in the data that its app's other edition exported.
public protocol ResourcesImporting: AppMigrationExtension {
  /// Puts what arrived into the app's container, which is empty but for `Documents` and `Library/Application Support`.
  ///
  /// Items may be moved out of the directory. If this throws, the app's container is cleared, and those of its groups are not:
  /// an importer that writes to groups removes its own data there first.
  /// - Parameters:
  ///   - url: the directory that has everything that was exported, under the paths that it was appended at.
  ///   - request: where it comes from.
  func importResources(at url: URL, request: ResourcesImportRequest) async throws

  /// How far the import is. It is asked for before the import begins, and then looked at a few times a second.
  ///
  /// Return one progress from a stored property, or a new one each time with the counts of the moment. Where the property
  /// returns different ones and none moves, the first one is shown that the import makes by `Progress(totalUnitCount:)` in its own
  /// task; one that it makes on the main actor is not seen.
  var resourcesImportProgress: Progress { get }
}

extension ResourcesImporting {
  /// A progress that stands still until the system ends it. Apple's framework requires one of the author.
  public var resourcesImportProgress: Progress { NoProgress(totalUnitCount: 1) }
}
