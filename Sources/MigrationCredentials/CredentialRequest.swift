package import MigrationSystem

/// A program's request. It has no field for the owner of the items: the owner follows from the
/// started program.
package enum CredentialRequest: Equatable, Sendable {
  /// Adds an item; refused if there is one with the same identity.
  case add(
    CredentialItem.Kind, [CredentialItem.Attribute: CredentialItem.Value], data: [UInt8], group: String?,
    returning: CredentialAspects)
  /// Finds items: first the program's own items, then its clip's; the older ones first among each.
  case copy(CredentialQuery, limit: UInt32, returning: CredentialAspects)
  /// Changes all matching items of the program itself.
  case update(CredentialQuery, CredentialChanges)
  /// Deletes all matching items, including its clip's.
  case delete(CredentialQuery)
  /// Asks for the record of a user.
  case account(user: String)
}

/// The properties that an item must have to match.
package struct CredentialQuery: Equatable, Sendable {
  package var kind: CredentialItem.Kind
  package var attributes: [CredentialItem.Attribute: CredentialItem.Value]
  /// The identifier of the program that stored the items: the requesting program, or its clip. Any
  /// other is refused.
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

  /// Whether an item has all requested properties, regardless of its owner.
  func matches(_ item: CredentialItem) -> Bool {
    item.kind == kind && attributes.allSatisfy { item[$0.key] == $0.value } && created ?? item.created == item.created
      && modified ?? item.modified == item.modified
  }
}

/// The changes of an update.
package struct CredentialChanges: Equatable, Sendable {
  package var attributes: [CredentialItem.Attribute: CredentialItem.Value]
  /// The new secret; nil to keep the old one.
  package var data: [UInt8]?
  /// The new owner of the items, which must be the program itself; otherwise the request is
  /// refused.
  package var group: String?

  package init(
    _ attributes: [CredentialItem.Attribute: CredentialItem.Value] = [:], data: [UInt8]? = nil, group: String? = nil
  ) {
    self.attributes = attributes
    self.data = data
    self.group = group
  }
}

/// The parts of an item that the answer has. Without any part, the answer only says whether there
/// is an item.
package struct CredentialAspects: OptionSet, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let attributes = CredentialAspects(rawValue: 1)
  package static let data = CredentialAspects(rawValue: 2)
  static let all: CredentialAspects = [.attributes, .data]
}
