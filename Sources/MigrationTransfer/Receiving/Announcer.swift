/// Makes a receiver known on its networks (Protocol §4.5). Whatever becomes of that, no transfer depends on it.
///
/// The loop calls it: both return at once.
package protocol Announcer: Sendable {
  /// Senders may pair or come back, at this port.
  func announce(port: UInt16)
  /// They may not any more.
  func withdraw()
}
