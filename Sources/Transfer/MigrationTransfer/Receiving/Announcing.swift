import MigrationDiscovery
package import MigrationEngine
import MigrationSystem

/// Announces this device on its networks for as long as its receiver wants that (Protocol §4.5),
/// and reports the outcome to the user. No transfer depends on its success.
///
/// The receiver's loop calls `announce` and `withdraw`: both return at once.
package final class Announcing: Sendable {
  private let label: String
  /// The number by which senders recognize this run, under any name.
  private let instance = UInt64.random(in: 1 ... .max)
  private let tell: @Sendable (TransferEvent) -> Void
  /// The newest announcement. The end waits for it, also if it is withdrawn.
  private let announcement = Mutex<Announcement?>(nil)

  package init(label: String, telling tell: @escaping @Sendable (TransferEvent) -> Void) {
    self.label = label
    self.tell = tell
  }

  /// Senders may pair or come back. `address` is where the receiver listens; it may stand for all
  /// addresses of this device.
  func announce(_ address: SocketAddress) {
    let service = Service(label: label, port: address.port, instance: instance)
    do throws(SystemError) {
      let new = try Announcement(service, reaching: address) { [tell] name in
        tell(.announced(name: name))
      } trouble: { [tell] trouble in
        tell(.unannounced(reason: trouble.description))
      }
      announcement.withLock { $0 = new }
    } catch {
      tell(.unannounced(reason: error.description))
    }
  }

  /// Senders may no longer pair or come back.
  func withdraw() { announcement.withLock { $0 }?.withdraw() }

  /// Returns when the networks know that this device no longer waits, but always soon.
  package func end() { announcement.withLock { $0 }?.end() }
}
