import AppMigrationKit
import NotesKit
import Testing

@testable import NotesMigration

struct SignInTests {
  private let user = "robin"

  /// A device with the app and its clip, and nothing stored.
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

  @Test func theAppGoesOnWhereTheClipStopped() async throws {
    try await withDevice { credentials in
      try await credentials.asClip { try SignIn(of: .clip).begin(user: user, secret: "of the clip") }
      credentials.authorize(user, forClip: true)
      let app = SignIn(of: .app)
      #expect(app.user == user)
      #expect(try await app.isAuthorized)
      #expect(try app.takeSecret() == "of the clip")
      // It is the app's own now, and the clip's is gone.
      #expect(try await credentials.asClip { try SignIn(of: .clip).takeSecret() } == nil)
      #expect(try app.takeSecret() == "of the clip")
      credentials.revoke(user)
      #expect(try await !app.isAuthorized)
    }
  }

  @Test func theNewestSecretCounts() async throws {
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

  @Test func theClipNeverSeesTheAppsSecret() async throws {
    try await withDevice { credentials in
      try SignIn(of: .app).begin(user: user, secret: "of the app")
      #expect(try await credentials.asClip { try SignIn(of: .clip).takeSecret() } == nil)
    }
  }
}
