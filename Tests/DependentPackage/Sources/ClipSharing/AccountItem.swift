import Foundation
import Security

/// The other well-known kind of helper: a value that is an item, with typed errors.
public struct AccountItem: Equatable {
  public enum KeychainError: Error, Equatable {
    case noPassword
    case unexpectedItemData
    case unhandledError(status: OSStatus)
  }

  public let service: String
  public private(set) var account: String
  public let accessGroup: String?

  public init(service: String, account: String, accessGroup: String? = nil) {
    self.service = service
    self.account = account
    self.accessGroup = accessGroup
  }

  public func readPassword() throws -> String {
    var query = AccountItem.query(service, account, accessGroup)
    query[kSecMatchLimit] = kSecMatchLimitOne
    query[kSecReturnAttributes] = kCFBooleanTrue
    query[kSecReturnData] = kCFBooleanTrue
    var result: AnyObject?
    let status = SecItemCopyMatching(query as CFDictionary, &result)
    guard status != errSecItemNotFound else { throw KeychainError.noPassword }
    guard status == errSecSuccess else { throw KeychainError.unhandledError(status: status) }
    guard let item = result as? [String: AnyObject], let data = item[kSecValueData as String] as? Data,
      let password = String(data: data, encoding: String.Encoding.utf8)
    else { throw KeychainError.unexpectedItemData }
    return password
  }

  public func savePassword(_ password: String) throws {
    let encoded = password.data(using: String.Encoding.utf8)!
    do {
      _ = try readPassword()
      let changes: [CFString: Any] = [kSecValueData: encoded, kSecAttrComment: "changed"]
      let status = SecItemUpdate(
        AccountItem.query(service, account, accessGroup) as CFDictionary, changes as CFDictionary)
      guard status == errSecSuccess else { throw KeychainError.unhandledError(status: status) }
    } catch KeychainError.noPassword {
      var item = AccountItem.query(service, account, accessGroup)
      item[kSecValueData] = encoded
      item[kSecAttrDescription] = "a password"
      item[kSecAttrGeneric] = account.data(using: .utf8)
      item[kSecAttrSynchronizable] = kCFBooleanFalse
      let status = SecItemAdd(item as CFDictionary, nil)
      guard status == errSecSuccess else { throw KeychainError.unhandledError(status: status) }
    }
  }

  public mutating func renameAccount(_ newName: String) throws {
    let changes: [CFString: Any] = [kSecAttrAccount: newName]
    let status = SecItemUpdate(
      AccountItem.query(service, account, accessGroup) as CFDictionary, changes as CFDictionary)
    guard status == errSecSuccess || status == errSecItemNotFound else {
      throw KeychainError.unhandledError(status: status)
    }
    account = newName
  }

  public func deleteItem() throws {
    let status = SecItemDelete(AccountItem.query(service, account, accessGroup) as CFDictionary)
    guard status == errSecSuccess || status == errSecItemNotFound else {
      throw KeychainError.unhandledError(status: status)
    }
  }

  /// The times at which the item was made and changed.
  public func dates() -> (made: Date, changed: Date)? {
    var query = AccountItem.query(service, account, accessGroup)
    query[kSecReturnAttributes] = kCFBooleanTrue
    var result: CFTypeRef?
    guard SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess,
      let item = result as? [CFString: Any], let made = item[kSecAttrCreationDate] as? Date,
      let changed = item[kSecAttrModificationDate] as? Date
    else { return nil }
    return (made, changed)
  }

  private static func query(_ service: String, _ account: String, _ accessGroup: String?) -> [CFString: Any] {
    var query: [CFString: Any] = [kSecClass: kSecClassGenericPassword]
    query[kSecAttrService] = service
    query[kSecAttrAccount] = account
    if let accessGroup = accessGroup { query[kSecAttrAccessGroup] = accessGroup }
    return query
  }
}
