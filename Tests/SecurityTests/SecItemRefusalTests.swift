import AppMigrationKit
import Expectations
import MigrationCredentials
import TestSupport
import Testing

@testable import Security

/// The refusals of a call, which name the key and never the value.
@Suite struct SecItemRefusalTests {
  private let credentials = AppMigrationTester.Credentials(ofApp: "org.example.notes")
  private static let secret = "unsayable"

  private static func fault(_ changes: [String: Any?], as role: ItemDictionary.Role) -> String? {
    var dictionary: [String: Any] = role == .changing ? [:] : SecItemTests.ann
    for (key, value) in changes { if let value { dictionary[key] = value } else { dictionary[key] = nil } }
    do {
      let read = try ItemDictionary(dictionary, as: role)
      switch role {
      case .adding: _ = try read.addition(returning: true)
      case .changing: _ = try read.changes(of: .genericPassword)
      case .copying, .choosing: _ = try read.query()
      }
      return nil
    } catch {
      return error.text
    }
  }

  @Test func `an invalid addition is refused with its key and the reason`() {
    let cases: [([String: Any?], String)] = [
      (["u_Unknown": Self.secret], "the key \"u_Unknown\" is not known"),
      (["new\nline": Self.secret], "the key \"new\\nline\" is not known"),
      ([kSecClass: nil], "kSecClass is missing"), ([kSecValueData: nil], "kSecValueData is missing"),
      ([kSecValueData: Self.secret], "kSecValueData is not Data"),
      ([kSecValueData: Optional<Data>.none as Any], "kSecValueData is nil"),
      ([kSecClass: Self.secret], "kSecClass is neither kSecClassGenericPassword nor kSecClassKey"),
      ([kSecAttrAccount: 3], "kSecAttrAccount is neither a String nor Data"),
      ([kSecAttrLabel: Data()], "kSecAttrLabel is not a String"),
      ([kSecAttrAccessible: Self.secret], "kSecAttrAccessible is not one of the constants kSecAttrAccessible…"),
      ([kSecAttrSynchronizable: true], "kSecAttrSynchronizable can only be false: items stay on this device"),
      (
        [kSecAttrSynchronizable: kSecAttrSynchronizableAny],
        "kSecAttrSynchronizable can only be false: items stay on this device"
      ),
      ([kSecMatchLimit: kSecMatchLimitOne], "kSecMatchLimit is not allowed here"),
      ([kSecReturnData: Self.secret], "kSecReturnData is not a Bool"),
      ([kSecAttrAccessGroup: 1], "kSecAttrAccessGroup is not a String"),
      ([kSecAttrCreationDate: Self.secret], "kSecAttrCreationDate is not a Date"),
      ([kSecAttrKeySizeInBits: 1], "kSecAttrKeySizeInBits is not an attribute of kSecClassGenericPassword"),
      ([kSecClass: kSecClassKey], "kSecAttrAccount is not an attribute of kSecClassKey"),
    ]
    for (changes, expected) in cases { expect(Self.fault(changes, as: .adding), is: expected) }
  }

  @Test func `the allowed keys depend on the call`() {
    for role in [ItemDictionary.Role.choosing, .changing] {
      expect(Self.fault([kSecMatchLimit: kSecMatchLimitOne], as: role), is: "kSecMatchLimit is not allowed here")
    }
    for limit in [0, -1, "many"] as [Any] {
      let expected = "kSecMatchLimit is neither kSecMatchLimitOne, nor kSecMatchLimitAll, nor a number above 0"
      expect(Self.fault([kSecMatchLimit: limit], as: .copying), is: expected)
    }
    for limit in [1, 5, kSecMatchLimitAll] as [Any] {
      expect(Self.fault([kSecMatchLimit: limit], as: .copying) == nil)
    }
    expect(Self.fault([kSecReturnData: true], as: .choosing) == nil)
    for key in [kSecClass, kSecReturnData, kSecReturnAttributes] {
      expect(Self.fault([key: kSecClassKey], as: .changing), is: "\(ItemKey.name(key)) is not allowed here")
    }
    expect(
      Self.fault([kSecAttrApplicationTag: Data()], as: .changing)?.hasPrefix("kSecAttrApplicationTag is no"), is: true)
    for role in [ItemDictionary.Role.copying, .choosing] {
      expect(Self.fault([kSecAttrSynchronizable: kSecAttrSynchronizableAny], as: role) == nil)
      expect(Self.fault([kSecValueData: Self.secret, kSecUseDataProtectionKeychain: true], as: role) == nil)
    }
  }

  @Test func `every attribute has a key`() {
    let texts = CredentialItem.Attribute.allCases.map { ItemKey.text(of: $0) }
    expect(Set(texts).count, is: CredentialItem.Attribute.allCases.count)
  }

  @Test func `a refused call writes one line with the key and without the value`() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let item: [String: Any] = [kSecClass as String: kSecClassGenericPassword, "r_Ref": "unsayable"]
      try #require(SecItemCopyMatching(item as CFDictionary, nil) == errSecParam)
    }
    let said = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    expect(said.contains("SecItemCopyMatching: the key \"r_Ref\" is not known.\n"))
    expect(!said.contains("unsayable"))
  }

  @Test func `an empty change, a large item, and another app's group are refused`() async {
    await credentials.asApp {
      let query = SecItemTests.ann as CFDictionary
      expect(SecItemAdd(query, nil), is: errSecSuccess)
      expect(SecItemUpdate(query, [:]), is: errSecParam)
      expect(SecItemUpdate(query, [kSecValueData: Data(count: CredentialLimits.data + 1)]), is: errSecDataTooLarge)
      expect(SecItemUpdate(query, [kSecValueData: Data(count: 1 << 20)]), is: errSecDataTooLarge)
      let other = SecItemTests.ann.merging([kSecAttrAccessGroup: "org.example.other"]) { $1 } as CFDictionary
      for status in [SecItemAdd(other, nil), SecItemDelete(other), SecItemCopyMatching(other, nil)] {
        expect(status, is: errSecMissingEntitlement)
      }
    }
  }
}
