import MigrationCredentials

extension ItemDictionary {
  /// Returns the kind of item, which every dictionary has, except a dictionary of changes. Throws
  /// if the attributes do not belong to this kind.
  func requiredKind() throws(Fault) -> CredentialItem.Kind {
    guard let kind else { throw Fault(kSecClass, "is missing") }
    try check(kind)
    return kind
  }

  private func check(_ kind: CredentialItem.Kind) throws(Fault) {
    for attribute in CredentialItem.Attribute.allCases where attributes[attribute] != nil && !attribute.isOf(kind) {
      throw Fault(
        ItemKey.text(of: attribute),
        "is not an attribute of \(kind == .key ? "kSecClassKey" : "kSecClassGenericPassword")")
    }
  }

  func query() throws(Fault) -> CredentialQuery {
    CredentialQuery(try requiredKind(), attributes, group: group, created: created, modified: modified)
  }

  /// The changes of an update to items of this kind.
  func changes(of kind: CredentialItem.Kind) throws(Fault) -> CredentialChanges {
    try check(kind)
    return CredentialChanges(attributes, data: data, group: group)
  }

  /// The request to add the dictionary's item.
  func addition(returning: Bool) throws(Fault) -> CredentialRequest {
    let kind = try requiredKind()
    guard let data else { throw Fault(kSecValueData, "is missing") }
    // Apple's framework has this default for an item.
    let attributes = attributes.merging([.accessible: .text(kSecAttrAccessibleWhenUnlocked)]) { said, _ in said }
    return .add(kind, attributes, data: data, group: group, returning: returning ? self.returning : [])
  }
}
