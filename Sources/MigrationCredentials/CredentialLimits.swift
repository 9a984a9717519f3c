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
