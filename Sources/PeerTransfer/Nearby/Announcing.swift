import MigrationDiscovery
package import MigrationEngine
import MigrationFinding
package import MigrationSystem
import MigrationTransfer
import Synchronization

/// Makes this device known on its networks for as long as its receiver wants that, and tells the user what becomes of it.
package final class Announcing: Announcer {
  private let label: String
  /// By which senders know this run, whatever it is called.
  private let instance = UInt64.random(in: 1 ... .max)
  private let tell: @Sendable (TransferEvent) -> Void
  /// The newest one. Withdrawn or not, it is waited for at the end.
  private let announcement = Mutex<Announcement?>(nil)

  package init(label: String, telling tell: @escaping @Sendable (TransferEvent) -> Void) {
    self.label = label
    self.tell = tell
  }

  package func announce(_ address: SocketAddress) {
    let service = Service(label: label, port: address.port, instance: instance)
    do throws(SystemError) {
      let new = try Announcement(service, reaching: Reach(listeningAt: address)) { [tell] news in
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

  /// Returns when the networks know that this device waits no more; soon, in any case.
  package func end() { announcement.withLock { $0 }?.end() }
}
