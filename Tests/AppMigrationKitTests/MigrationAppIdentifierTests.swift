import AppMigrationKit
import Foundation
import Testing

@Suite struct MigrationAppIdentifierTests {
  @Test func `platforms and stores equal their names`() {
    #expect(MigrationPlatform("linux") == .linux)
    #expect(MigrationPlatform(rawValue: "android") == .android)
    #expect(Set([MigrationPlatform.linux, .android, MigrationPlatform("linux")]).count == 2)
    #expect(MigrationAppIdentifier.StoreIdentifier("x").rawValue == "x")
  }

  @Test func `an identifier survives encoding`() throws {
    let identifier = MigrationAppIdentifier(
      storeIdentifier: .googlePlay, bundleIdentifier: "org.example.notes", platform: .android)
    let decoded = try JSONDecoder().decode(
      MigrationAppIdentifier.self, from: JSONEncoder().encode(identifier))
    #expect(decoded.storeIdentifier == identifier.storeIdentifier)
    #expect(decoded.bundleIdentifier == identifier.bundleIdentifier)
    #expect(decoded.platform == identifier.platform)
  }
}
