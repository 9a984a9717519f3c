/// An extension that imports the data from its app on another device.
public protocol ResourcesImporting: AppMigrationExtension {
  /// Puts the received data into the app's container, which is empty except for `Documents` and
  /// `Library/Application Support`.
  ///
  /// It may move items out of the directory. If it throws, the system empties the app's container,
  /// but not the containers of the app's groups. An importer that writes to groups removes its own
  /// data there before it throws.
  /// - Parameters:
  ///   - url: the directory with all exported items, under the paths that the exporter chose.
  ///   - request: the source of the data.
  func importResources(at url: URL, request: ResourcesImportRequest) async throws

  /// The progress of the import. The system reads it before the import begins, and then a few times
  /// a second.
  ///
  /// Return one progress from a stored property, or a new one each time with the counts of the
  /// moment. If the property returns different objects and none moves, the system shows the first
  /// progress that the import makes by `Progress(totalUnitCount:)` in its own task. It does not see
  /// a progress that is made on the main actor.
  var resourcesImportProgress: Progress { get }
}

extension ResourcesImporting {
  /// A progress that does not move until the system completes it. Apple's framework requires the
  /// property.
  public var resourcesImportProgress: Progress { NoProgress(totalUnitCount: 1) }
}
