import AppMigrationKit
import XCTest

/// Tests in the form for an app that hosts them on Apple's platforms: they name neither the tested
/// extension nor the place of its data. Scripts/lib/dependent-package sets these in the environment,
/// and runs the tests unchanged.
final class NotesMigrationTests: XCTestCase {
  private let platform = MigrationPlatform.android

  private func exported(
    _ progress: Progress? = nil
  ) async throws -> (AppMigrationTester, AppMigrationTester.ResourcesExportResult) {
    let tester = try await AppMigrationTester(platform: platform)
    let controller = try await tester.exportController
    let request = MigrationRequest(destinationPlatform: platform)
    return (tester, try await controller.exportResources(request: request, progress: progress))
  }

  func testExport() async throws {
    let progress = Progress(totalUnitCount: 100)
    let (_, result) = try await exported(progress)
    XCTAssertEqual(progress.completedUnitCount, progress.totalUnitCount)
    XCTAssertEqual(result.exportProperties.version, "3.0")
    XCTAssertGreaterThanOrEqual(result.exportProperties.sizeEstimate, result.exportProperties.uncompressedBytes)
    let note = result.extractedResourcesURL.appending(path: "files/first.txt")
    XCTAssertEqual(try String(contentsOf: note, encoding: .utf8), "one")
    let shared = result.extractedResourcesURL.appending(path: "shared/shared.txt")
    XCTAssertEqual(try String(contentsOf: shared, encoding: .utf8), "shared")
  }

  func testImport() async throws {
    let archive = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: archive, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: archive) }
    try "a\nb\n".write(to: archive.appending(path: "notes.txt"), atomically: true, encoding: .utf8)
    let controller = try await AppMigrationTester(platform: platform).importController
    let app = MigrationAppIdentifier(
      storeIdentifier: .googlePlay, bundleIdentifier: "org.example.notes", platform: .android)
    try await controller.importResources(
      from: archive, importRequest: ResourcesImportRequest(sourceAppIdentifier: app, sourceVersion: "1.0"))
  }

  func testRoundTrip() async throws {
    let (tester, result) = try await exported()
    let progress = Progress(totalUnitCount: 10)
    let controller = try await tester.importController
    try await controller.importResources(from: result.extractedResourcesURL, progress: progress)
    XCTAssertTrue(progress.isFinished)
    try await controller.registerImportCompletion(with: .success)
    guard case .success = MigrationStatus.importStatus else { return XCTFail("no success") }
    MigrationStatus.clearImportStatus()
    XCTAssertNil(MigrationStatus.importStatus)
  }

  func testImportOfAVersionOfTheFutureFails() async throws {
    let (tester, result) = try await exported()
    let controller = try await tester.importController
    let app = MigrationAppIdentifier(
      storeIdentifier: .googlePlay, bundleIdentifier: "org.example.notes", platform: .android)
    let request = ResourcesImportRequest(sourceAppIdentifier: app, sourceVersion: "99")
    do {
      try await controller.importResources(from: result.extractedResourcesURL, importRequest: request)
      XCTFail("it was imported")
    } catch {
      XCTAssertTrue("\(error)".contains("99"))
    }
  }
}
