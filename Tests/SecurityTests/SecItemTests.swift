import AppMigrationKit
import Expectations
import Security
import Testing

/// The calls as authors write them, over a store in memory.
@Suite struct SecItemTests {
  private let credentials: AppMigrationTester.Credentials

  init() throws {
    credentials = try AppMigrationTester.Credentials(ofApp: "org.example.notes", clip: "org.example.notes.clip")
  }

  static var ann: [String: Any] {
    [
      kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "ann",
      kSecAttrService as String: "notes", kSecValueData as String: Data("secret".utf8),
    ]
  }

  static func copy(_ query: [String: Any]) -> (OSStatus, AnyObject?) {
    var result: AnyObject?
    let status = SecItemCopyMatching(query as CFDictionary, &result)
    return (status, result)
  }

  @Test func `an item can be read in each requested form`() async throws {
    try await credentials.asApp {
      expect(SecItemAdd(Self.ann as CFDictionary, nil), is: errSecSuccess)
      var query: [String: Any] = [kSecClass as String: kSecClassGenericPassword, kSecReturnData as String: true]
      expect(Self.copy(query).1 as? Data == Data("secret".utf8))
      query[kSecReturnAttributes as String] = kCFBooleanTrue
      let both = try #require(Self.copy(query).1 as? [String: Any])
      expect(both[kSecValueData as String] as? Data == Data("secret".utf8))
      expect(both[kSecAttrAccount as String] as? String == "ann")
      query[kSecReturnData as String] = kCFBooleanFalse
      let attributes = try #require(Self.copy(query).1 as? [String: Any])
      expect(attributes[kSecValueData as String] == nil)
      expect(attributes[kSecClass as String] as? String == kSecClassGenericPassword as String)
      expect(attributes[kSecAttrAccessGroup as String] as? String == "org.example.notes")
      expect(attributes[kSecAttrAccessible as String] as? String == kSecAttrAccessibleWhenUnlocked as String)
      expect(attributes[kSecAttrSynchronizable as String] as? Bool == false)
      let created = try #require(attributes[kSecAttrCreationDate as String] as? Date)
      expect(abs(created.timeIntervalSinceNow) < 60)
      expect(attributes[kSecAttrModificationDate as String] as? Date == created)
      query[kSecMatchLimit as String] = kSecMatchLimitAll
      expect((Self.copy(query).1 as? [[String: Any]])?.count, is: 1)
      query[kSecReturnData as String] = true
      query[kSecReturnAttributes as String] = nil
      expect(Self.copy(query).1 as? [Data] == [Data("secret".utf8)])
      query[kSecReturnData as String] = nil
      let (status, none) = Self.copy(query)
      expect(status == errSecSuccess && none == nil, "whether there is an item")
    }
  }

  @Test func `a read item serves as a query for itself`() async throws {
    try await credentials.asApp {
      SecItemAdd(Self.ann as CFDictionary, nil)
      SecItemAdd(Self.ann.merging([kSecAttrAccount as String: "bob"]) { $1 } as CFDictionary, nil)
      let query = Self.ann.merging([
        kSecReturnAttributes as String: true, kSecReturnData as String: true, kSecValueData as String: Data(),
      ]) { $1 }
      let found = try #require(Self.copy(query).1 as? [String: Any])
      expect(SecItemDelete(found as CFDictionary), is: errSecSuccess)
      expect(
        Self.copy([
          kSecClass as String: kSecClassGenericPassword, kSecMatchLimit as String: 5, kSecReturnData as String: true,
        ]).1 as? [Data] == [Data("secret".utf8)])
      expect(SecItemAdd(found as CFDictionary, nil), is: errSecSuccess, "the read item can be added again")
    }
  }

  @Test func `an addition returns the requested parts`() async {
    await credentials.asApp {
      var result: CFTypeRef?
      var query = Self.ann
      query[kSecReturnData as String] = true
      expect(SecItemAdd(query as CFDictionary, &result), is: errSecSuccess)
      expect(result as? Data == Data("secret".utf8))
      expect(SecItemAdd(query as CFDictionary, &result), is: errSecDuplicateItem)
      expect(result == nil)
    }
  }

  @Test func `a secret in a query is not compared`() async {
    await credentials.asApp {
      SecItemAdd(Self.ann as CFDictionary, nil)
      var query = Self.ann
      query[kSecValueData as String] = Data("another".utf8)
      expect(Self.copy(query).0, is: errSecSuccess)
      expect(
        SecItemUpdate(query as CFDictionary, [kSecValueData as String: Data("new".utf8)] as CFDictionary),
        is: errSecSuccess)
      query[kSecReturnData as String] = true
      expect(Self.copy(query).1 as? Data == Data("new".utf8))
      expect(SecItemDelete(query as CFDictionary), is: errSecSuccess)
      expect(SecItemDelete(query as CFDictionary), is: errSecItemNotFound)
    }
  }

  @Test func `an app reads and deletes its clip's items, and a label tells the copies apart`() async throws {
    func item(_ label: String) -> [String: Any] { Self.ann.merging([kSecAttrLabel as String: label]) { $1 } }
    await credentials.asClip { expect(SecItemAdd(item("clip") as CFDictionary, nil), is: errSecSuccess) }
    try await credentials.asApp {
      expect(SecItemAdd(item("app") as CFDictionary, nil), is: errSecSuccess)
      let query: [String: Any] = [
        kSecClass as String: kSecClassGenericPassword, kSecReturnAttributes as String: true,
        kSecMatchLimit as String: kSecMatchLimitAll,
      ]
      let found = try #require(Self.copy(query).1 as? [[String: Any]])
      expect(found.map { $0[kSecAttrLabel as String] as? String }, is: ["app", "clip"])
      expect(
        found.map { $0[kSecAttrAccessGroup as String] as? String }, is: ["org.example.notes", "org.example.notes.clip"])
      let clips: [String: Any] = [kSecClass as String: kSecClassGenericPassword, kSecAttrLabel as String: "clip"]
      expect(SecItemDelete(clips as CFDictionary), is: errSecSuccess)
      expect((Self.copy(query).1 as? [Any])?.count, is: 1)
    }
    await credentials.asClip { expect(Self.copy(Self.ann).0, is: errSecItemNotFound) }
  }

  @Test func `a key is kept as data`() async throws {
    try await credentials.asApp {
      let key: [CFString: Any] = [
        kSecClass: kSecClassKey, kSecAttrApplicationTag: Data("org.example.tag".utf8), kSecAttrKeySizeInBits: 256,
        kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeyClass: kSecAttrKeyClassPrivate, kSecValueData: Data([1, 2]),
        kSecAttrApplicationLabel: "first",
      ]
      expect(SecItemAdd(key as CFDictionary, nil), is: errSecSuccess)
      expect(SecItemAdd(key as CFDictionary, nil), is: errSecDuplicateItem)
      var result: AnyObject?
      let query: [CFString: Any] = [
        kSecClass: kSecClassKey, kSecAttrApplicationTag: Data("org.example.tag".utf8), kSecReturnAttributes: true,
      ]
      expect(SecItemCopyMatching(query as CFDictionary, &result), is: errSecSuccess)
      let found = try #require(result as? [String: Any])
      expect(found[kSecAttrKeySizeInBits as String] as? Int == 256)
      expect(found[kSecAttrApplicationTag as String] as? Data == Data("org.example.tag".utf8))
    }
  }

  @Test func `values may have Foundation's types, be in optionals, or both`() async {
    await credentials.asApp {
      let data: Data? = Data("x".utf8)
      let optional: Any? = NSString(string: "ann")
      let item: [String: Any] = [
        kSecClass as String: NSString(string: kSecClassGenericPassword), kSecValueData as String: data as Any,
        kSecAttrAccount as String: optional as Any, kSecAttrGeneric as String: NSData(data: Data([1])),
        kSecAttrSynchronizable as String: NSNumber(value: false),
      ]
      expect(SecItemAdd(item as CFDictionary, nil), is: errSecSuccess)
      let query: [String: Any] = [
        kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "ann" as AnyObject,
        kSecAttrGeneric as String: Data([1]), kSecReturnData as String: NSNumber(value: true),
        kSecMatchLimit as String: NSNumber(value: 1),
      ]
      expect(Self.copy(query).1 as? Data == data)
    }
  }

  @Test func `an app has a store only within a test's configuration, and an extension never has one`() {
    expect(SecItemAdd(Self.ann as CFDictionary, nil), is: errSecNotAvailable)
    expect(Self.copy(Self.ann).0, is: errSecNotAvailable)
  }

  @Test func `each status has a sentence`() {
    expect(SecCopyErrorMessageString(errSecItemNotFound, nil) as String? == "No stored item matches.")
    expect(SecCopyErrorMessageString(-1, nil) as String? == "OSStatus -1")
    expect([errSecParam, errSecNotAvailable, errSecDuplicateItem], is: [-50, -25291, -25299])
    expect([errSecItemNotFound, errSecMissingEntitlement, errSecDecode], is: [-25300, -34018, -26275])
  }
}
