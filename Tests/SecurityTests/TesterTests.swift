import AppMigrationKit
import Expectations
import MigrationSystem
import Security
import TestSupport
import Testing

/// The extension under test, which tries to read its app's items.
struct AskingExtension: ResourcesExporting {
  static let seen = Mutex<[OSStatus]>([])

  func exportResources(to archiver: sending ResourcesArchiver, request: MigrationRequest) async throws {
    let status = SecItemCopyMatching(SecItemTests.ann as CFDictionary, nil)
    Self.seen.withLock { $0.append(status) }
  }
  var resourcesSizeEstimate: Int { get async { 0 } }
  var resourcesVersion: String { "1" }
  var resourcesCompressible: Bool { true }
}

@Suite struct TesterTests {
  private let scratch: Scratch

  init() throws { scratch = try Scratch() }

  @Test func `a tester's configuration has a store for the app, but not for its extension`() async throws {
    let container = URL(filePath: scratch.path("container"))
    try FileManager.default.createDirectory(at: container, withIntermediateDirectories: true)
    try await AppMigrationTester.withConfiguration(extension: AskingExtension.self, container: container) {
      expect(SecItemAdd(SecItemTests.ann as CFDictionary, nil), is: errSecSuccess)
      _ = try await AppMigrationTester(platform: .linux).exportController.exportResources(request: nil)
      expect(AskingExtension.seen.withLock { $0 }, is: [errSecNotAvailable])
      expect(SecItemCopyMatching(SecItemTests.ann as CFDictionary, nil), is: errSecSuccess)
    }
    await AppMigrationTester.withConfiguration(extension: AskingExtension.self, container: container) {
      expect(SecItemCopyMatching(SecItemTests.ann as CFDictionary, nil), is: errSecItemNotFound, "another store")
    }
  }

  @Test func `one test runs as the clip first and then as the app`() async throws {
    let credentials = try AppMigrationTester.Credentials(ofApp: "org.example.notes", clip: "org.example.notes.clip")
    await credentials.asClip { expect(SecItemAdd(SecItemTests.ann as CFDictionary, nil), is: errSecSuccess) }
    let container = URL(filePath: scratch.path(""))
    await AppMigrationTester.withConfiguration(
      extension: AskingExtension.self, container: container, credentials: credentials
    ) {
      expect(SecItemCopyMatching(SecItemTests.ann as CFDictionary, nil), is: errSecSuccess)
    }
    await AppMigrationTester.Credentials(ofApp: "org.example.notes").asApp {
      expect(SecItemCopyMatching(SecItemTests.ann as CFDictionary, nil), is: errSecItemNotFound)
    }
  }

  @Test func `the tester refuses a clip of another app`() {
    for clip in ["org.example.other.clip", "org.example.notes", "org.example.notes."] {
      #expect(throws: CocoaError.self) {
        try AppMigrationTester.Credentials(ofApp: "org.example.notes", clip: clip)
      }
    }
  }
}
