extension CredentialItem {
  /// What no two items of one owner have in common. A label has no part in it.
  struct Identity: Hashable {
    let kind: Kind
    let values: [Value]
  }

  /// A password's account and service; a key's application label, or the tag of a key that has no such label.
  var identity: Identity {
    switch kind {
    case .genericPassword: Identity(kind: kind, values: [self[.account], self[.service]])
    case .key:
      Identity(
        kind: kind,
        values: self[.applicationLabel] == .absent ? [.absent, self[.applicationTag]] : [self[.applicationLabel]])
    }
  }

  /// An attribute's value; one that was not given is like an empty text.
  subscript(attribute: Attribute) -> Value { attributes[attribute] ?? .absent }

  /// Whether it is small enough to be stored.
  var isWithinLimits: Bool {
    data.count <= CredentialLimits.data && attributes.encoded.count <= CredentialLimits.attributes
  }
}

extension CredentialItem.Value {
  static let absent = CredentialItem.Value.text("")
}

extension CredentialItem.Attribute {
  /// Whether items of this kind have it.
  package func isOf(_ kind: CredentialItem.Kind) -> Bool {
    switch self {
    case .account, .service, .generic: kind == .genericPassword
    case .applicationLabel, .applicationTag, .keyType, .keyClass, .keySize: kind == .key
    case .label, .description, .comment, .accessible: true
    }
  }
}
