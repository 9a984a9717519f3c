package import MigrationWire

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
      let status = try fields.readRequired(1, subject) { reader, bytes throws(Violation) in try reader.u32(bytes) }
      self = .ended(CredentialStatus(rawValue: Int32(bitPattern: status)))
    case .account:
      try fields.refuseUnknown(besides: [1], subject)
      guard fields.value(1) != nil else {
        self = .account(nil)
        return
      }
      guard let state = AccountState(rawValue: try fields.byte(1, subject)) else { throw Violation(.unknown, subject) }
      self = .account(state)
    case nil: throw Violation(.unknown, subject)
    }
  }
}
