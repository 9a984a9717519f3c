import Expectations
import MigrationCredentials
import Testing

struct CredentialOwnerTests {
  @Test func `the name of each owner is unique`() throws {
    let app = CredentialOwner(app: "org.example.notes")
    let clip = try #require(CredentialOwner(clip: "org.example.notes.clip", of: "org.example.notes"))
    let ofAnother = try #require(CredentialOwner(clip: "org.example.notes.clip", of: "org.example"))
    expect(app.name, is: "org.example.notes")
    expect(clip.name, is: "org.example.notes@clip")
    expect(clip.identifier == ofAnother.identifier && clip != ofAnother)
    for owner in [app, clip, ofAnother] { expect(CredentialOwner(name: owner.name), is: owner) }
  }

  @Test(arguments: ["org.example.notes", "org.example.notes.", "org.example.noteswith.clip", "clip", ""])
  func aClipsIdentifierGoesOnFromItsApps(_ clip: String) {
    expect(CredentialOwner(clip: clip, of: "org.example.notes") == nil)
  }

  @Test(arguments: ["", "@", "a@", "@a", "a@b@c"])
  func aNameThatIsNoOwners(_ name: String) { expect(CredentialOwner(name: name) == nil) }
}
