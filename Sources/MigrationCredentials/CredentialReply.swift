package import MigrationWire

/// A message that answers a request: items first, if there are any, and how it ended last.
package enum CredentialReply: Equatable, Sendable {
  /// An item, and the identifier of the program that stored it. Its data is empty unless it was asked for.
  case item(CredentialItem, group: String)
  /// The end of a request for items.
  case ended(CredentialStatus)
  /// The end of a request for an account that was answered; nil where nothing is recorded.
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
