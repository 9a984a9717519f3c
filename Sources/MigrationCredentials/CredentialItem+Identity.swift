extension CredentialItem {
  /// The identity of an item, unique for each owner. A label is not a part of it.
  struct Identity: Hashable {
    let kind: Kind
    let values: [Value]
  }

  /// A password's account and service; a key's application label, or the tag of a key without this
  /// label.
  var identity: Identity {
    switch kind {
    case .genericPassword: Identity(kind: kind, values: [self[.account], self[.service]])
    case .key:
      Identity(
        kind: kind,
        values: self[.applicationLabel] == .absent ? [.absent, self[.applicationTag]] : [self[.applicationLabel]])
    }
  }

  /// An attribute's value; a missing value is an empty text.
  subscript(attribute: Attribute) -> Value { attributes[attribute] ?? .absent }

  /// Whether the item is small enough to be stored.
  var isWithinLimits: Bool {
    data.count <= CredentialLimits.data && attributes.encoded.count <= CredentialLimits.attributes
  }
}

extension CredentialItem.Value {
  static let absent = CredentialItem.Value.text("")
}

extension CredentialItem.Attribute {
  /// Whether items of this kind have the attribute.
  package func isOf(_ kind: CredentialItem.Kind) -> Bool {
    switch self {
    case .account, .service, .generic: kind == .genericPassword
    case .applicationLabel, .applicationTag, .keyType, .keyClass, .keySize: kind == .key
    case .label, .description, .comment, .accessible: true
    }
  }
}
