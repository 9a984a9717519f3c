package import MigrationWire

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
      let limit = try fields.readRequired(8, subject) { reader, bytes throws(Violation) in try reader.u32(bytes) }
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
    let aspects = CredentialAspects(rawValue: try byte(tag, subject))
    guard aspects.isSubset(of: .all) else { throw Violation(.value, subject) }
    return aspects
  }
}
