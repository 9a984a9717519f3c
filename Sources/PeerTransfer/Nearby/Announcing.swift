import MigrationDiscovery
package import MigrationEngine
package import MigrationSystem
import MigrationTransfer

/// Announces this device on its networks for as long as its receiver wants that, and reports the
/// outcome to the user.
package final class Announcing: Announcer {
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

  package func announce(_ address: SocketAddress) {
    let service = Service(label: label, port: address.port, instance: instance)
    do throws(SystemError) {
      let new = try Announcement(service, reaching: ListeningAddresses(listeningAt: address)) { [tell] news in
        switch news {
        case .established(let name): tell(.announced(name: name))
        }
      } trouble: { [tell] trouble in
        tell(.unannounced(reason: trouble.description))
      }
      announcement.withLock { $0 = new }
    } catch {
      tell(.unannounced(reason: error.description))
    }
  }

  package func withdraw() { announcement.withLock { $0 }?.withdraw() }

  /// Returns when the networks know that this device no longer waits, but always soon.
  package func end() { announcement.withLock { $0 }?.end() }
}
