import Foundation
import Security

/// A keychain helper like those in many apps: a class with an access level, values by keys, and a
/// last status.
open class PasswordKeeper {
  public enum Access {
    case whenUnlocked
    case afterFirstUnlock
    case onThisDeviceOnly

    var value: CFString {
      switch self {
      case .whenUnlocked: return kSecAttrAccessibleWhenUnlocked
      case .afterFirstUnlock: return kSecAttrAccessibleAfterFirstUnlock
      case .onThisDeviceOnly: return kSecAttrAccessibleWhenUnlockedThisDeviceOnly
      }
    }
  }

  public private(set) var lastStatus: OSStatus = noErrorYet
  public let service: String
  public let group: String?

  private static var noErrorYet: OSStatus { errSecSuccess }

  public init(service: String, group: String? = nil) {
    self.service = service
    self.group = group
  }

  @discardableResult
  open func set(_ value: String, forKey key: String, access: Access = .afterFirstUnlock) -> Bool {
    guard let data = value.data(using: .utf8) else { return false }
    var query = base(key)
    query[kSecValueData as String] = data as AnyObject
    query[kSecAttrAccessible as String] = access.value as AnyObject
    lastStatus = SecItemAdd(query as CFDictionary, nil)
    if lastStatus == errSecDuplicateItem {
      lastStatus = SecItemUpdate(base(key) as CFDictionary, [kSecValueData as String: data] as CFDictionary)
    }
    return lastStatus == noErr
  }

  open func get(_ key: String) -> String? {
    var query = base(key)
    query[kSecReturnData as String] = kCFBooleanTrue as AnyObject
    query[kSecMatchLimit as String] = kSecMatchLimitOne as AnyObject
    var found: AnyObject?
    lastStatus = withUnsafeMutablePointer(to: &found) {
      SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer($0))
    }
    guard lastStatus == noErr, let data = found as? Data else { return nil }
    return String(data: data, encoding: .utf8)
  }

  @discardableResult
  open func delete(_ key: String) -> Bool {
    lastStatus = SecItemDelete(base(key) as CFDictionary)
    return lastStatus == noErr
  }

  public var keys: [String] {
    let query: [String: Any] = [
      kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
      kSecReturnAttributes as String: true, kSecMatchLimit as String: kSecMatchLimitAll,
    ]
    var found: CFTypeRef?
    guard SecItemCopyMatching(query as CFDictionary, &found) == errSecSuccess, let items = found as? [[CFString: Any]]
    else { return [] }
    return items.compactMap { $0[kSecAttrAccount] as? String }.sorted()
  }

  public var lastMessage: String { SecCopyErrorMessageString(lastStatus, nil) as String? ?? "status \(lastStatus)" }

  private func base(_ key: String) -> [String: AnyObject] {
    var query: [String: AnyObject] = [
      kSecClass as String: kSecClassGenericPassword as AnyObject, kSecAttrService as String: service as AnyObject,
      kSecAttrAccount as String: key as AnyObject,
    ]
    if let group { query[kSecAttrAccessGroup as String] = group as AnyObject }
    return query
  }
}
