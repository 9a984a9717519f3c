internal import MigrationHost
internal import MigrationSystem
internal import MigrationWire

/// The work that a host may request from an extension, done with the author's object.
struct ExtensionWork: Sendable {
  let instance: any AppMigrationExtension
  let host: HostConnection

  /// The abilities of an extension's type.
  static func abilities(of type: any AppMigrationExtension.Type) -> ExtensionAbilities {
    var abilities: ExtensionAbilities = []
    if type is any ResourcesExportingWithOptions.Type { abilities.insert(.exports) }
    if type is any ResourcesImporting.Type { abilities.insert(.imports) }
    return abilities
  }

  func describe() async throws -> ExportDescription {
    let exporter = try exporter
    return ExportDescription(of: exporter, estimate: await exporter.resourcesSizeEstimate)
  }

  func export(to platform: String, options: [AppRequest.Option]) async throws {
    try await exporter.export(
      to: host, platform: MigrationPlatform(platform),
      options: options.map { ($0.name, Data($0.value)) })
  }

  func importItems(in directory: [UInt8], from app: AppIdentity) async throws {
    guard let importer = instance as? any ResourcesImporting else { throw CocoaError(.featureUnsupported) }
    let request = ResourcesImportRequest(
      sourceAppIdentifier: MigrationAppIdentifier(
        storeIdentifier: .init(app.store), bundleIdentifier: app.bundleIdentifier, platform: .init(app.platform)),
      sourceVersion: app.version)
    let host = host
    // A host that has ended also ends the process.
    let notice = try await WatchedImport(importer).run(
      at: URL(directory: String(decoding: directory, as: UTF8.self)), request
    ) { try? host.send(.progress($0)) }
    if let notice { try? host.send(.notice(notice)) }
  }

  private var exporter: any ResourcesExportingWithOptions {
    get throws {
      guard let exporter = instance as? any ResourcesExportingWithOptions else {
        throw CocoaError(.featureUnsupported)
      }
      return exporter
    }
  }
}

extension ExportDescription {
  /// The exporter's description: the given estimate, its version, and whether its data may be
  /// compressed.
  init(of exporter: any ResourcesExportingWithOptions, estimate: Int) {
    self.init(
      estimate: Int64(estimate), version: exporter.resourcesVersion, isCompressible: exporter.resourcesCompressible)
  }
}

extension ResourcesExportingWithOptions {
  /// Exports with the requested options that this extension knows.
  func export(to destination: any ItemDestination, platform: MigrationPlatform, options: [(String, Data)]) async throws
  {
    var known: [OptionsType: Data] = [:]
    for (name, value) in options {
      if let option = OptionsType(rawValue: name) { known[option] = value }
    }
    try await exportResources(
      to: ResourcesArchiver(destination),
      request: MigrationRequestWithOptions(destinationPlatform: platform, options: known))
  }
}
