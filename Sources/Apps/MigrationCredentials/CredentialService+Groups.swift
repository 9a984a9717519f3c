/// The access groups that a request may name: a group is the identifier of an owner. A program adds
/// and changes items in its own group alone; it reads and deletes its clip's items too.
extension CredentialService {
  /// Refuses a group that is none of some owners'. Without a group, all of them are meant.
  func check(_ group: String?, isOf owners: [CredentialOwner]) throws(CredentialStatus) {
    guard let group else { return }
    guard owners.contains(where: { $0.identifier == group }) else { throw .missingEntitlement }
  }

  /// The owners that a query addresses, in the order of its results.
  func owners(of query: CredentialQuery) throws(CredentialStatus) -> [CredentialOwner] {
    try check(query.group, isOf: readableOwners)
    return readableOwners.filter { query.group == nil || query.group == $0.identifier }
  }
}
