import AppMigrationKit
import Expectations
import Foundation
import Testing

@Suite struct MigrationAppIdentifierTests {
  @Test func `platforms and stores equal their names`() {
    expect(MigrationPlatform("linux"), is: .linux)
    expect(MigrationPlatform(rawValue: "android"), is: .android)
    expect(Set([MigrationPlatform.linux, .android, MigrationPlatform("linux")]).count, is: 2)
    expect(MigrationAppIdentifier.StoreIdentifier("x").rawValue, is: "x")
  }

  @Test func `an identifier survives encoding`() throws {
    let identifier = MigrationAppIdentifier(
      storeIdentifier: .googlePlay, bundleIdentifier: "org.example.notes", platform: .android)
    let decoded = try JSONDecoder().decode(
      MigrationAppIdentifier.self, from: JSONEncoder().encode(identifier))
    expect(decoded.storeIdentifier, is: identifier.storeIdentifier)
    expect(decoded.bundleIdentifier, is: identifier.bundleIdentifier)
    expect(decoded.platform, is: identifier.platform)
  }
}
