package import MigrationSystem
package import MigrationWire

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

/// Requests as bytes: a type, then fields as in Protocol §5. Unknown types and fields are refused.
extension CredentialRequest {
  private enum Kind: UInt8 {
    case add = 1
    case copy = 2
    case update = 3
    case delete = 4
    case account = 5
  }

  private static var subject: String { "a request for credentials" }

  package var encoded: [UInt8] {
    var fields = Fields()
    let type: Kind
    switch self {
    case .add(let kind, let attributes, let data, let group, let returning):
      type = .add
      CredentialQuery(kind, attributes, group: group).write(to: &fields)
      fields.append(6, data)
      fields.append(7, [returning.rawValue])
    case .copy(let query, let limit, let returning):
      type = .copy
      query.write(to: &fields)
      fields.append(7, [returning.rawValue])
      fields.append(8) { $0.u32(limit) }
    case .update(let query, let changes):
      type = .update
      query.write(to: &fields)
      if let data = changes.data { fields.append(6, data) }
      if !changes.attributes.isEmpty { fields.append(9, changes.attributes.encoded) }
      if let group = changes.group { fields.append(10, Array(group.utf8)) }
    case .delete(let query):
      type = .delete
      query.write(to: &fields)
    case .account(let user):
      type = .account
      fields.append(1, Array(user.utf8))
    }
    return fields.message(type.rawValue)
  }

  package init(_ bytes: [UInt8]) throws(Violation) {
    let subject = Self.subject
    let (type, fields) = try Fields.message(bytes, subject)
    switch Kind(rawValue: type) {
    case .add:
      try fields.refuseUnknown(besides: [1, 2, 3, 6, 7], subject)
      let query = try CredentialQuery(fields, subject)
      guard let data = try fields.secret(6, subject) else { throw Violation(.field, subject) }
      self = .add(
        query.kind, query.attributes, data: data, group: query.group, returning: try fields.aspects(7, subject))
    case .copy:
      try fields.refuseUnknown(besides: [1, 2, 3, 4, 5, 7, 8], subject)
      let limit: UInt32 = try fields.requiredNumber(8, subject)
      guard limit > 0 else { throw Violation(.value, subject) }
      self = .copy(
        try CredentialQuery(fields, subject), limit: limit, returning: try fields.aspects(7, subject))
    case .update:
      try fields.refuseUnknown(besides: [1, 2, 3, 4, 5, 6, 9, 10], subject)
      let query = try CredentialQuery(fields, subject)
      let changes = CredentialChanges(
        try fields.requestedAttributes(9, of: query.kind, subject), data: try fields.secret(6, subject),
        group: try fields.optionalText(10, limit: Limits.identifier, subject))
      guard changes != CredentialChanges() else { throw Violation(.field, subject) }
      self = .update(query, changes)
    case .delete:
      try fields.refuseUnknown(besides: 1...5, subject)
      self = .delete(try CredentialQuery(fields, subject))
    case .account:
      try fields.refuseUnknown(besides: [1], subject)
      let user = try fields.text(1, limit: CredentialLimits.user, subject)
      guard !user.isEmpty else { throw Violation(.value, subject) }
      self = .account(user: user)
    case nil: throw Violation(.unknown, subject)
    }
  }
}

extension CredentialQuery {
  fileprivate func write(to fields: inout Fields) {
    fields.append(1, [kind.rawValue])
    if !attributes.isEmpty { fields.append(2, attributes.encoded) }
    if let group { fields.append(3, Array(group.utf8)) }
    if let created { fields.append(4) { $0.timestamp(created) } }
    if let modified { fields.append(5) { $0.timestamp(modified) } }
  }

  fileprivate init(_ fields: Fields, _ subject: String) throws(Violation) {
    let kind = try fields.kind(1, subject)
    self.init(
      kind, try fields.requestedAttributes(2, of: kind, subject),
      group: try fields.optionalText(3, limit: Limits.identifier, subject), created: try fields.timestamp(4, subject),
      modified: try fields.timestamp(5, subject))
  }
}

extension Fields {
  fileprivate func aspects(_ tag: UInt8, _ subject: String) throws(Violation) -> CredentialAspects {
    let aspects = CredentialAspects(rawValue: try requiredNumber(tag, subject))
    guard aspects.isSubset(of: .all) else { throw Violation(.value, subject) }
    return aspects
  }
}

/// A message that answers a request: first the items, if there are any, and last the result.
package enum CredentialReply: Equatable, Sendable {
  /// An item, and the identifier of the program that stored it. Its data is empty unless the
  /// request asked for it.
  case item(CredentialItem, group: String)
  /// The end of a request for items.
  case ended(CredentialStatus)
  /// The end of an answered request for an account; nil if there is no record.
  case account(AccountState?)
}

extension CredentialReply {
  private enum Kind: UInt8 {
    case item = 1
    case ended = 2
    case account = 3
  }

  package var encoded: [UInt8] {
    var fields = Fields()
    let kind: Kind
    switch self {
    case .item(let item, let group):
      kind = .item
      fields.append(1, item.encoded)
      fields.append(2, Array(group.utf8))
    case .ended(let status):
      kind = .ended
      fields.append(1) { $0.u32(UInt32(bitPattern: status.rawValue)) }
    case .account(let state):
      kind = .account
      if let state { fields.append(1, [state.rawValue]) }
    }
    return fields.message(kind.rawValue)
  }

  package init(_ bytes: [UInt8]) throws(Violation) {
    let subject = "an answer about credentials"
    let (kind, fields) = try Fields.message(bytes, subject)
    switch Kind(rawValue: kind) {
    case .item:
      try fields.refuseUnknown(besides: 1...2, subject)
      self = .item(
        try CredentialItem(try fields.required(1, subject)),
        group: try fields.text(2, limit: Limits.identifier, subject))
    case .ended:
      try fields.refuseUnknown(besides: [1], subject)
      self = .ended(CredentialStatus(rawValue: try fields.requiredNumber(1, subject)))
    case .account:
      try fields.refuseUnknown(besides: [1], subject)
      guard fields.value(1) != nil else {
        self = .account(nil)
        return
      }
      guard let state = AccountState(rawValue: try fields.requiredNumber(1, subject)) else {
        throw Violation(.unknown, subject)
      }
      self = .account(state)
    case nil: throw Violation(.unknown, subject)
    }
  }
}

/// The result of a request, by the numbers of Apple's OSStatus.
package struct CredentialStatus: RawRepresentable, Error, Hashable, Sendable {
  package let rawValue: Int32
  package init(rawValue: Int32) { self.rawValue = rawValue }

  package static let success = CredentialStatus(rawValue: 0)
  /// Reading or writing failed.
  package static let io = CredentialStatus(rawValue: -36)
  package static let parameter = CredentialStatus(rawValue: -50)
  /// The key is missing or belongs to another storage, or the storage is locked for too long.
  package static let notAvailable = CredentialStatus(rawValue: -25291)
  package static let duplicateItem = CredentialStatus(rawValue: -25299)
  package static let itemNotFound = CredentialStatus(rawValue: -25300)
  /// An item is too large, or the owner has the maximum number of items.
  package static let dataTooLarge = CredentialStatus(rawValue: -25302)
  /// An item differs from its stored form: cut, changed, or moved there from another owner.
  package static let decode = CredentialStatus(rawValue: -26275)
  package static let missingEntitlement = CredentialStatus(rawValue: -34018)
}

/// The limits of stored items. A request with an item of this size, and with a query of this size,
/// fits into one packet.
package enum CredentialLimits {
  /// The longest secret, in bytes.
  package static let data = 16 << 10
  /// The attributes of an item together, or those of a query, in bytes.
  package static let attributes = 4 << 10
  /// The number of one owner's items.
  package static let items = 1024
  /// The longest identifier of a user, in bytes.
  package static let user = 1 << 10
}
