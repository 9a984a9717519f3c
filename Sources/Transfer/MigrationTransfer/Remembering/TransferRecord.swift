package import MigrationEngine
import MigrationSystem
import MigrationTLS
package import MigrationWire

/// A device's record of an unfinished transfer.
package struct TransferRecord: Equatable, Sendable {
  /// The transfer's subject on this device.
  package enum Subject: Equatable, Sendable {
    /// The absolute paths of the sources, and the names of apps, in the order of the parts.
    case sources([[UInt8]])
    /// The absolute path of the destination, and the port where this device listened.
    case destination([UInt8], port: UInt16)
  }

  package let transfer: TransferID
  package let role: Role
  /// This device's key, as `Identity` encodes it.
  package let identity: [UInt8]
  /// The other device's key: the pin.
  package let peer: KeyFingerprint
  /// The other device's label.
  package let label: String
  /// The other device's last address.
  package var address: String
  /// In seconds since 1970.
  package let started: Int64
  package var lastSeen: Int64
  package var total: Tally
  package var held: Tally
  package let subject: Subject
  /// The first plan, and its parts.
  package let plan: Plan
  package var parts: [PartRecord]
  /// At a receiver: the part that ran last.
  package var newest: UInt16 = 0
  /// The secret by which both devices meet at relays; nil in a record of an older program.
  package var meeting: [UInt8]?
  /// At a receiver: the answers of a person about the plan.
  package var consent = Consent()

  package var sources: [[UInt8]]? { if case .sources(let sources) = subject { sources } else { nil } }
  package var destination: [UInt8]? { if case .destination(let path, _) = subject { path } else { nil } }
  package var port: UInt16? { if case .destination(_, let port) = subject { port } else { nil } }

  /// Whether every part is finished.
  package var isDone: Bool { parts.allSatisfy { $0.finished != nil } }

  /// When the last part was finished, in seconds since 1970; nil before that.
  package var doneAt: Int64? { isDone ? parts.compactMap(\.finished?.at).max() : nil }

  /// The items of the finished parts.
  package var finished: Tally { parts.reduce(Tally()) { $0.adding($1.finished?.done.total ?? Tally()) } }

  /// A part as it was offered first; nil if it was not.
  package func offer(ofPart number: UInt16) -> Offer? {
    guard let totals = parts[Int(number)].begun?.totals, let contents = plan.parts[Int(number)].offered else {
      return nil
    }
    return Offer(contents, totals)
  }
}

/// The record of one transfer, locked for this process as long as the object lives.
package final class LockedTransferRecord: Sendable {
  static let file = Array("state".utf8)
  /// Says that the user has forgotten the device: no process continues the transfer.
  static let forgottenFile = Array("forgotten".utf8)

  /// The directory that has the lock.
  private let directory: SharedDirectory
  private let name: [UInt8]
  private let transfers: SharedDirectory
  private let state: Mutex<(remembered: TransferRecord, pieces: TransferRecord.Pieces)>

  init(
    _ remembered: TransferRecord, _ directory: SharedDirectory, name: [UInt8], in transfers: SharedDirectory
  ) {
    state = Mutex((remembered, TransferRecord.Pieces()))
    self.directory = directory
    self.name = name
    self.transfers = transfers
  }

  package var remembered: TransferRecord {
    LoopThread.check("wait for a transfer's entry")
    return state.withLock { $0.remembered }
  }

  /// Whether the user has forgotten the other device, and with it this transfer.
  var isForgotten: Bool {
    LoopThread.check("look at a transfer's entry")
    return (try? directory.directory.status(Self.forgottenFile)) != nil
  }

  /// Whether the record was removed from the disk, by another program.
  var isGone: Bool {
    LoopThread.check("look for a transfer's entry")
    do throws(SystemError) {
      _ = try transfers.directory.status(name)
      return false
    } catch {
      return error.isNotFound
    }
  }

  /// Changes the record, durably and at once.
  package func update(_ change: (inout TransferRecord) -> Void) throws(Failure) {
    LoopThread.check("write a transfer's entry")
    do {
      try state.withLock { (state) throws(SystemError) in
        var changed = state.remembered
        change(&changed)
        try directory.directory.replaceFile(Self.file, with: changed.encoded(&state.pieces))
        state.remembered = changed
      }
    } catch {
      throw Failure(store: "the record of the transfer cannot be written", error)
    }
  }

  /// Records the end of a part, with the names of the items that are not stored. The record stays
  /// until both ends know the end.
  func finish(_ part: UInt16, _ done: Done, notStored: [NotStored]) throws(Failure) {
    let now = Timestamp.coarseNow().seconds
    try update { remembered in
      remembered.lastSeen = now
      remembered.parts[Int(part)].notStored = notStored
      remembered.parts[Int(part)].finished = PartRecord.Finished(done: done, at: now)
      remembered.held = remembered.finished
      if remembered.isDone { remembered.total = remembered.held }
    }
  }

  /// Forgets the transfer.
  package func remove() throws(Failure) {
    do {
      try transfers.directory.removeTree(name)
      try transfers.directory.synchronize()
    } catch {
      if error.isNotFound { return }
      throw Failure(store: "the record of the transfer cannot be removed", error)
    }
  }
}
