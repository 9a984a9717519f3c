package import MigrationSystem

/// What a program asks for. It has no field for whose items are meant: that follows from the program that was started.
package enum CredentialRequest: Equatable, Sendable {
  /// Adds an item; refused if there is one with the same identity.
  case add(
    CredentialItem.Kind, [CredentialItem.Attribute: CredentialItem.Value], data: [UInt8], group: String?,
    returning: CredentialAspects)
  /// Finds items: those of the program itself come first, then its clip's; the older ones first among each.
  case copy(CredentialQuery, limit: UInt32, returning: CredentialAspects)
  /// Changes all items of the program itself that match.
  case update(CredentialQuery, CredentialChanges)
  /// Deletes all items that match, its clip's too.
  case delete(CredentialQuery)
  /// Asks for what is recorded of a user.
  case account(user: String)
}

/// Which items are meant: those that have all of this.
package struct CredentialQuery: Equatable, Sendable {
  package var kind: CredentialItem.Kind
  package var attributes: [CredentialItem.Attribute: CredentialItem.Value]
  /// The identifier of the program that stored them: the one that asks, or its clip. Any other is refused.
  package var group: String?
  package var created: Timestamp?
  package var modified: Timestamp?

  package init(
    _ kind: CredentialItem.Kind, _ attributes: [CredentialItem.Attribute: CredentialItem.Value] = [:],
    group: String? = nil, created: Timestamp? = nil, modified: Timestamp? = nil
  ) {
    self.kind = kind
    self.attributes = attributes
    self.group = group
    self.created = created
    self.modified = modified
  }

  /// Whether an item has all that is asked for, whose item it may be.
  func matches(_ item: CredentialItem) -> Bool {
    item.kind == kind && attributes.allSatisfy { item[$0.key] == $0.value } && created ?? item.created == item.created
      && modified ?? item.modified == item.modified
  }
}

/// What an update sets.
package struct CredentialChanges: Equatable, Sendable {
  package var attributes: [CredentialItem.Attribute: CredentialItem.Value]
  /// The new secret; nil for the old one.
  package var data: [UInt8]?
  /// Whose items they shall be: the program's own, or the request is refused.
  package var group: String?

  package init(
    _ attributes: [CredentialItem.Attribute: CredentialItem.Value] = [:], data: [UInt8]? = nil, group: String? = nil
  ) {
    self.attributes = attributes
    self.data = data
    self.group = group
  }
}

/// What is answered of an item. Without any, only whether there is one.
package struct CredentialAspects: OptionSet, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let attributes = CredentialAspects(rawValue: 1)
  package static let data = CredentialAspects(rawValue: 2)
  static let all: CredentialAspects = [.attributes, .data]
}
