import AppMigrationKit

/// Exports the requested items, one by one. The source is from before Swift 6.
@main
final class PhotosExtension: ResourcesExportingWithOptions {
  enum PhotoOptions: String, CaseIterable, Sendable {
    case quality
    case sinceDate = "since-date"
  }

  typealias OptionsType = PhotoOptions

  required init() {}

  func exportResources(
    to archiver: sending ResourcesArchiver, request: MigrationRequestWithOptions<PhotoOptions>
  ) async throws {
    let photos = appContainer.documentsDirectory.appendingPathComponent("Photos")
    let smallest = request.options[.quality].flatMap { String(data: $0, encoding: .utf8) } == "high" ? 1_000 : 0
    for url in try list(photos) {
      try Task.checkCancellation()
      let size = try url.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
      guard size >= smallest else { continue }
      let path = url.path.replacingOccurrences(of: photos.path + "/", with: "")
      do {
        try await archiver.appendItem(at: url, pathInArchive: "photos/\(path)")
      } catch CocoaError.fileReadNoSuchFile {
        // The photograph was removed meanwhile.
        continue
      }
    }
  }

  private func list(_ directory: URL) throws -> [URL] {
    var urls: [URL] = []
    let enumerator = FileManager.default.enumerator(
      at: directory, includingPropertiesForKeys: [.isRegularFileKey], options: [.skipsHiddenFiles])
    for case let url as URL in enumerator! {
      if try url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true { urls.append(url) }
    }
    return urls
  }

  var resourcesSizeEstimate: Int {
    get async { await estimate() }
  }

  private func estimate() async -> Int { 1_000_000 }

  var resourcesVersion: String { "2024.1" }
  // Photographs are already compressed.
  var resourcesCompressible: Bool { false }
}
