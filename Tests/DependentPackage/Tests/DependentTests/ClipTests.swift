import AppMigrationKit
import Synchronization
import Testing

import struct ClipSharing.AccountItem
import class ClipSharing.PasswordKeeper
import struct ClipSharing.SharedSecrets
import struct ClipSharing5.SharedSecrets
import struct ClipSharingMain.SharedSecrets

/// An author's code runs first as the clip and then as the app.
struct ClipTests {
  private let credentials: AppMigrationTester.Credentials

  init() throws {
    credentials = try AppMigrationTester.Credentials(ofApp: "org.example.notes", clip: "org.example.notes.clip")
  }

  @Test func `an app continues with its clip's data`() async throws {
    let secrets = ClipSharing.SharedSecrets()
    await credentials.asClip { secrets.leave(token: "clip's", label: "clip") }
    try await credentials.asApp { () async throws in
      #expect(try secrets.token()?.text == "clip's")
      secrets.leave(token: "app's", label: "app")
      #expect(try secrets.token()?.text == "app's")
      #expect(try secrets.token(label: "clip")?.text == "clip's")
      #expect(secrets.labels() == ["app", "clip"])
      secrets.forget(label: "clip")
      #expect(secrets.labels() == ["app"])
      #expect(secrets.keep(key: Data([1, 2, 3])) == 0)
    }
    try await credentials.asClip { () async throws in #expect(try secrets.token() == nil) }
  }

  @Test func `the sources work the same in Swift 5 and with main-actor isolation`() async throws {
    let older = ClipSharing5.SharedSecrets()
    await credentials.asClip { older.leave(token: "older", label: "clip") }
    let read = try await credentials.asApp { @MainActor in try ClipSharingMain.SharedSecrets().token()?.text }
    #expect(read == "older")
  }

  @Test func `a sign-in holds until it is revoked`() async throws {
    credentials.authorize("ann", forClip: true)
    try await credentials.asApp { () async throws in
      #expect(try await ClipSharing.SharedSecrets().isSignedIn("ann"))
      #expect(await shown("ann") == "favourites of ann")
      credentials.revoke("ann")
      #expect(await shown("ann") == "signed out")
      #expect(await shown("bob") == "unknown")
      #expect(!ClipSharing.SharedSecrets().keep(nil), "no sign-in has a result here")
    }
  }

  private func shown(_ user: String) async -> String {
    await withCheckedContinuation { continuation in
      ClipSharing.SharedSecrets().signIn(user) { continuation.resume(returning: $0) }
    }
  }

  @Test func `ordinary helpers work as on Apple's platforms`() async throws {
    try await credentials.asApp { () async throws in
      let keeper = PasswordKeeper(service: "s", group: "org.example.notes")
      #expect(keeper.set("one", forKey: "b"))
      #expect(keeper.set("two", forKey: "b"))
      #expect(keeper.set("three", forKey: "a", access: .onThisDeviceOnly))
      #expect(keeper.get("b") == "two")
      #expect(keeper.keys == ["a", "b"])
      #expect(keeper.delete("a"))
      #expect(keeper.get("a") == nil)
      #expect(keeper.lastMessage == "No stored item matches.")

      var item = AccountItem(service: "t", account: "ann")
      #expect(throws: AccountItem.KeychainError.noPassword) { try item.readPassword() }
      try item.savePassword("first")
      try item.savePassword("second")
      try item.renameAccount("bob")
      #expect(try AccountItem(service: "t", account: "bob").readPassword() == "second")
      let dates = try #require(item.dates())
      #expect(dates.made <= dates.changed)
      try item.deleteItem()
      #expect(throws: AccountItem.KeychainError.noPassword) { try item.readPassword() }
    }
  }
}
