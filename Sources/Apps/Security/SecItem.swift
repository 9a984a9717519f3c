import MigrationCredentials
import MigrationSystem

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Adds an item of this app. Returns `errSecDuplicateItem` if there is an item of the same
/// identity.
///
/// - Parameters:
///   - attributes: the item: `kSecClass`, `kSecValueData`, and its attributes.
///   - result: the parts that `kSecReturnData` and `kSecReturnAttributes` request; may be nil.
@discardableResult
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
  let result = ResultSlot(result)
  result.store(nil)
  return asking("SecItemAdd") { () throws(ItemDictionary.Fault) in
    let item = try ItemDictionary(attributes, as: .adding)
    let answer = CredentialConnection.current.ask(try item.addition(returning: result.isWanted))
    if let value = answer.result(item.returning, isArray: false) { result.store(value) }
    return answer.status
  }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Finds items of this app, and then items of its clip. Returns `errSecItemNotFound` if there are
/// none.
///
/// - Parameters:
///   - query: the properties that the items must have, the parts to return, and `kSecMatchLimit`
///     (default: one item).
///   - result: a dictionary with `kSecReturnAttributes`, `Data` with only `kSecReturnData`; arrays
///     of these unless the limit is one; nil if the query requests neither.
@discardableResult
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
  let result = ResultSlot(result)
  result.store(nil)
  return asking("SecItemCopyMatching") { () throws(ItemDictionary.Fault) in
    let query = try ItemDictionary(query, as: .copying)
    let returning = result.isWanted ? query.returning : []
    let answer = CredentialConnection.current.ask(.copy(try query.query(), limit: query.limit, returning: returning))
    if let value = answer.result(returning, isArray: query.limit != 1) { result.store(value) }
    return answer.status
  }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Changes all matching items of this app, but not its clip's. Changes nothing if two items would
/// get one identity.
@discardableResult
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus {
  asking("SecItemUpdate") { () throws(ItemDictionary.Fault) in
    let query = try ItemDictionary(query, as: .choosing).query()
    let changes = try ItemDictionary(attributesToUpdate, as: .changing).changes(of: query.kind)
    // A dictionary of only dates, or an empty one, has no changes, which is an error of the author.
    guard changes != CredentialChanges() else { return .parameter }
    return CredentialConnection.current.ask(.update(query, changes)).status
  }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Deletes all matching items of this app and of its clip.
@discardableResult
public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
  asking("SecItemDelete") { () throws(ItemDictionary.Fault) in
    CredentialConnection.current.ask(.delete(try ItemDictionary(query, as: .choosing).query())).status
  }
}

/// Reports the error in a dictionary on standard error.
private func asking(
  _ function: String, _ body: () throws(ItemDictionary.Fault) -> CredentialStatus
) -> OSStatus {
  do {
    return try body().rawValue
  } catch {
    StandardStream.error.write("\(function): \(error.text).\n")
    return errSecParam
  }
}
