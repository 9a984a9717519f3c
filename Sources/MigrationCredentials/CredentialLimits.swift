/// The limits of what is stored. A request with an item of this size, and with a query of the same, fits into one packet.
package enum CredentialLimits {
  /// The longest secret, in bytes.
  package static let data = 16 << 10
  /// The attributes of an item together, or those of a query, in bytes.
  package static let attributes = 4 << 10
  /// Items of one owner.
  package static let items = 1024
  /// A user's identifier, in bytes.
  package static let user = 1 << 10
}
