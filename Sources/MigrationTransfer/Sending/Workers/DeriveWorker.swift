import MigrationEngine
import MigrationTLS
import MigrationWire

/// Derives the secret that a code stands for (Protocol §4.4), which takes a while, and makes a
/// fresh key.
struct DeriveWorker: SenderWorker {
  let code: PairingCode
  let name = "derive"

  func run(_ events: EventQueue<SenderNews>) -> SenderNews {
    do throws(TLSError) {
      return .derived(
        PairingKeys(
          secret: try code.stretched(), identity: try Identity.generate()))
    } catch {
      return .event(.derived(Fault(error)))
    }
  }

  func end(without thread: Fault) -> SenderNews { .event(.derived(thread)) }
}
