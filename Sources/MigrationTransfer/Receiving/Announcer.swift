package import MigrationSystem

/// Makes a receiver known on its networks (Protocol §4.5). Whatever becomes of that, no transfer depends on it.
///
/// The loop calls it: both return at once.
package protocol Announcer: Sendable {
  /// Senders may pair or come back: this is where the receiver listens, an address of all of this device's included.
  func announce(_ address: SocketAddress)
  /// They may not any more.
  func withdraw()
}
