package import MigrationSystem

/// Announces a receiver on its networks (Protocol §4.5). No transfer depends on its success.
///
/// The loop calls it: both return at once.
package protocol Announcer: Sendable {
  /// Senders may pair or come back: this is where the receiver listens, an address of all of this
  /// device's included.
  func announce(_ address: SocketAddress)
  /// They may not any more.
  func withdraw()
}
