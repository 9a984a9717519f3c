import MigrationCredentials

extension ItemDictionary {
  /// The kind of item, which every dictionary says but one of changes; its attributes are checked to be of that kind.
  func requiredKind() throws(Fault) -> CredentialItem.Kind {
    guard let kind else { throw Fault(kSecClass, "is missing") }
    try check(kind)
    return kind
  }

  private func check(_ kind: CredentialItem.Kind) throws(Fault) {
    for attribute in CredentialItem.Attribute.allCases where attributes[attribute] != nil && !attribute.isOf(kind) {
      throw Fault(
        ItemKey.text(of: attribute), "is no attribute of \(kind == .key ? "kSecClassKey" : "kSecClassGenericPassword")")
    }
  }

  func query() throws(Fault) -> CredentialQuery {
    CredentialQuery(try requiredKind(), attributes, group: group, created: created, modified: modified)
  }

  /// What an update of items of this kind sets.
  func changes(of kind: CredentialItem.Kind) throws(Fault) -> CredentialChanges {
    try check(kind)
    return CredentialChanges(attributes, data: data, group: group)
  }

  /// The request to add what the dictionary has.
  func addition(returning: Bool) throws(Fault) -> CredentialRequest {
    let kind = try requiredKind()
    guard let data else { throw Fault(kSecValueData, "is missing") }
    // What Apple's framework takes an item to be that says nothing else.
    let attributes = attributes.merging([.accessible: .text(kSecAttrAccessibleWhenUnlocked)]) { said, _ in said }
    return .add(kind, attributes, data: data, group: group, returning: returning ? self.returning : [])
  }
}
