package import MigrationSystem

/// A secret, and its attributes.
package struct CredentialItem: Equatable, Sendable {
  /// The kind of the secret.
  package enum Kind: UInt8, Sendable {
    case genericPassword = 1
    case key = 2
  }

  /// The attributes that an author can set. The store sets the dates.
  package enum Attribute: UInt8, CaseIterable, Sendable {
    case account = 1
    case service = 2
    case label = 3
    case description = 4
    case comment = 5
    case generic = 6
    case accessible = 7
    case applicationLabel = 8
    case applicationTag = 9
    case keyType = 10
    case keyClass = 11
    case keySize = 12
  }

  /// The value of an attribute.
  package enum Value: Hashable, Sendable {
    case text(String)
    case data([UInt8])
    case number(Int64)
  }

  package var kind: Kind
  package var attributes: [Attribute: Value]
  /// The secret itself.
  package var data: [UInt8]
  package var created: Timestamp
  package var modified: Timestamp

  package init(
    _ kind: Kind, _ attributes: [Attribute: Value], data: [UInt8], created: Timestamp, modified: Timestamp
  ) {
    self.kind = kind
    self.attributes = attributes
    self.data = data
    self.created = created
    self.modified = modified
  }
}
