import MigrationSystem
import MigrationWire
import Synchronization

/// The receiver's journal on disk: claims about staging, appended as they become true.
///
/// Several threads append; the order of the file is the order of the calls.
final class JournalFile: Sendable {
  private struct State {
    var position: UInt64 = 0
    var writer = ByteWriter()
  }

  private let file: SharedDescriptor
  private let key: UInt128
  private let state = Mutex(State())

  /// Starts a journal in a file that is empty.
  init(_ file: consuming Descriptor, key: UInt128, transfer: TransferID) throws(SystemError) {
    self.file = SharedDescriptor(file)
    self.key = key
    try append([.opened(transfer)])
  }

  /// Returns once the records are in the file: they survive this process, not yet a power loss.
  func append(_ records: [JournalRecord]) throws(SystemError) {
    guard !records.isEmpty else { return }
    try state.withLock { (state) throws(SystemError) in
      state.writer.removeAll()
      for record in records {
        record.write(to: &state.writer, position: state.position + UInt64(state.writer.bytes.count), key: key)
      }
      // At its place, so that a later record writes over one that was cut short.
      try unsafe file.descriptor.write(at: Int64(state.position), state.writer.bytes.span.bytes)
      state.position += UInt64(state.writer.bytes.count)
    }
  }

  /// Where the next record will stand.
  var position: UInt64 { state.withLock { $0.position } }

  /// Notes that everything in front of `position` is durable, durably. The data that it vouches for must be synced already.
  func mark(syncedUpTo position: UInt64) throws(SystemError) {
    try append([.synced(upTo: position)])
    try file.descriptor.synchronizeData()
  }
}
