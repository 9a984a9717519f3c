import MigrationEngine
import MigrationWire

/// One session's part in a transfer: which one it is, and where its news go.
struct TransferPart: Sendable {
  let number: SessionNumber
  let mailbox: Mailbox<ReceiverNews>
}
