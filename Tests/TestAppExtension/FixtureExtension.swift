import AppMigrationKit

/// An extension for tests of its process. The requested platform of an export, and the version of
/// an import, decide its work.
struct FixtureExtension: ResourcesExportingWithOptions, ResourcesImporting {
  enum OptionsType: String, CaseIterable {
    case quality
    case since
  }

  func exportResources(
    to archiver: sending ResourcesArchiver, request: MigrationRequestWithOptions<OptionsType>
  ) async throws {
    let documents = appContainer.documentsDirectory
    switch request.destinationPlatform.rawValue {
    case "listing":
      for name in try FileManager.default.contentsOfDirectory(atPath: documents.path).sorted() {
        try await archiver.appendItem(at: documents.appending(path: name))
      }
    case "many": try await Self.appendMany(documents.appending(path: "file"), to: archiver)
    case "one after the other":
      for name in ["one", "two"] {
        try await archiver.appendItem(at: documents.appending(path: "file"), pathInArchive: name)
      }
    case "options":
      let text = request.options.sorted { $0.key.rawValue < $1.key.rawValue }.map {
        "\($0.key.rawValue)=\(String(decoding: $0.value, as: UTF8.self))"
      }
      throw FixtureFailure(text: text.joined(separator: ","))
    case "until cancelled":
      while true { try await archiver.appendItem(at: documents.appending(path: "file")) }
    case "until the task is cancelled":
      try await archiver.appendItem(at: documents.appending(path: "file"))
      try await Task.sleep(for: .seconds(3600))
    case "refused":
      do {
        try await archiver.appendItem(at: documents.appending(path: "file"))
      } catch let error as CocoaError where error.code == .fileWriteFileExists {
        try await archiver.appendItem(at: documents.appending(path: "file"), pathInArchive: "another")
      }
    case "busy":
      try await archiver.appendItem(at: documents.appending(path: "file"))
      while !Task.isCancelled || request.options.isEmpty {}
    case "group":
      let group = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "group.org.example.notes")
      guard let group, FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "group.other") == nil
      else { throw FixtureFailure(text: "wrong groups") }
      try await archiver.appendItem(at: group.appending(path: "shared"))
    case "status":
      switch MigrationStatus.importStatus {
      case nil: throw FixtureFailure(text: "none")
      case .success: throw FixtureFailure(text: "success")
      case .failure(let error): throw error
      }
    case "cleared status":
      MigrationStatus.clearImportStatus()
      throw FixtureFailure(text: "\(MigrationStatus.importStatus == nil)")
    case "output":
      print("printed by the author")
      fallthrough
    default: throw FixtureFailure(text: "unknown platform")
    }
  }

  private static func appendMany(_ file: URL, to archiver: ResourcesArchiver) async throws {
    for number in 0..<2000 { try await archiver.appendItem(at: file, pathInArchive: "files/\(number)") }
  }

  var resourcesSizeEstimate: Int {
    get async { await MainActor.run { Thread.isMainThread ? 4711 : -1 } }
  }

  var resourcesVersion: String { "2.1" }
  var resourcesCompressible: Bool { false }

  func importResources(at url: URL, request: ResourcesImportRequest) async throws {
    switch request.sourceVersion {
    case "moves":
      let names = try FileManager.default.contentsOfDirectory(atPath: url.path)
      for name in names {
        try FileManager.default.moveItem(
          at: url.appending(path: name), to: appContainer.documentsDirectory.appending(path: name))
      }
    case "half":
      resourcesProgress.completedUnitCount = 5
      // Waits until the host has seen it and cancels.
      try await Task.sleep(for: .seconds(3600))
    default: throw FixtureFailure(text: request.sourceAppIdentifier.bundleIdentifier)
    }
  }

  private let resourcesProgress = Progress(totalUnitCount: 10)
  var resourcesImportProgress: Progress { resourcesProgress }
}

struct FixtureFailure: LocalizedError, CustomNSError {
  static let errorDomain = "org.example.fixture"
  let text: String
  var errorCode: Int { 42 }
  var errorDescription: String? { text }
  var errorUserInfo: [String: Any] { ["kind": "fixture", "number": 3] }
}
