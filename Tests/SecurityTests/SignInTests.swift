import AppMigrationKit
import AuthenticationServices
import Expectations
import Testing

/// The state of a user's sign-in, by the calls of authors.
@Suite struct SignInTests {
  private typealias State = ASAuthorizationAppleIDProvider.CredentialState
  private let credentials: AppMigrationTester.Credentials

  init() throws {
    credentials = try AppMigrationTester.Credentials(ofApp: "org.example.notes", clip: "org.example.notes.clip")
  }

  private static func state(_ user: String) async throws -> State {
    try await ASAuthorizationAppleIDProvider().credentialState(forUserID: user)
  }

  @Test func `a clip's authorization holds for its app until the app's own record says otherwise`() async throws {
    expect(try await credentials.asApp { try await Self.state("u") }, is: .notFound)
    credentials.authorize("u", forClip: true)
    expect(try await credentials.asClip { try await Self.state("u") }, is: .authorized)
    expect(try await credentials.asApp { try await Self.state("u") }, is: .authorized)
    credentials.revoke("u")
    expect(try await credentials.asApp { try await Self.state("u") }, is: .revoked)
    expect(try await credentials.asClip { try await Self.state("u") }, is: .authorized)
  }

  @Test func `a completion is called once, with the state or an error`() async {
    credentials.authorize("u")
    await credentials.asApp {
      let (state, error) = await withCheckedContinuation { continuation in
        ASAuthorizationAppleIDProvider().getCredentialState(forUserID: "u") { continuation.resume(returning: ($0, $1)) }
      }
      expect(state == .authorized && error == nil)
    }
  }

  @Test func `a user without a name, and a program without a broker, get an error`() async throws {
    await credentials.asApp {
      let error = await #expect(throws: ASAuthorizationError.self) { try await Self.state("") }
      expect(error?.code, is: .failed)
    }
    let error = await #expect(throws: ASAuthorizationError.self) { try await Self.state("u") }
    expect(error?.code, is: .notHandled)
    expect(error?.localizedDescription, is: "No broker answers: peer did not start this app.")
    expect((error as NSError?)?.code, is: 1003)
  }
}
