import AppMigrationKit
import NotesKit
import Testing

@testable import NotesMigration

struct SignInTests {
  private let user = "robin"

  /// Runs a test on a device with the app and its clip, and without stored items.
  private func withDevice(_ body: (AppMigrationTester.Credentials) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "notes-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let app = SampleDevice.bundleIdentifier
    let credentials = try AppMigrationTester.Credentials(ofApp: app, clip: "\(app).clip")
    try await AppMigrationTester.withConfiguration(
      extension: NotesMigration.self, container: directory, groups: [NotesFiles.groupIdentifier: directory],
      bundleIdentifier: app, credentials: credentials
    ) {
      try await body(credentials)
    }
  }

  @Test func `the app continues where the clip stopped`() async throws {
    try await withDevice { credentials in
      try await credentials.asClip { try SignIn(of: .clip).begin(user: user, secret: "of the clip") }
      credentials.authorize(user, forClip: true)
      let app = SignIn(of: .app)
      #expect(app.user == user)
      #expect(try await app.isAuthorized)
      #expect(try app.takeSecret() == "of the clip")
      // The secret is the app's own now, and the clip has none.
      #expect(try await credentials.asClip { try SignIn(of: .clip).takeSecret() } == nil)
      #expect(try app.takeSecret() == "of the clip")
      credentials.revoke(user)
      #expect(try await !app.isAuthorized)
    }
  }

  @Test func `the newest secret counts`() async throws {
    try await withDevice { credentials in
      let app = SignIn(of: .app)
      try app.begin(user: user, secret: "of an earlier installation")
      // Dates are whole milliseconds.
      try await Task.sleep(for: .milliseconds(20))
      try await credentials.asClip { try SignIn(of: .clip).begin(user: user, secret: "of the clip") }
      #expect(try app.takeSecret() == "of the clip")
      #expect(try app.takeSecret() == "of the clip")
    }
  }

  @Test func `the clip never sees the app's secret`() async throws {
    try await withDevice { credentials in
      try SignIn(of: .app).begin(user: user, secret: "of the app")
      #expect(try await credentials.asClip { try SignIn(of: .clip).takeSecret() } == nil)
    }
  }
}
