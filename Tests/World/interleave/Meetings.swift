import CWorld
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport

@testable import MigrationArchive
@testable import MigrationTransfer

extension Meeting {
  static let all = [createAndPurge, firstStarts, firstNames, twoSyncs, twoSenders]

  /// A purge of another process takes no record that is just being made.
  private static let createAndPurge = Meeting(name: "create × purge") { scratch in
    let home = scratch.at("home")
    // The folder is there, as behind the first transfer.
    try TransferStore(home: home).create(try remembered(1)).remove()
    let new = try remembered(2)
    return (
      [
        {
          withExtendedLifetime(try TransferStore(home: home).create(new)) {}
          return nil
        },
        {
          try TransferStore(home: home).purge(at: TransferStore.StoreTime(0))
          return nil
        },
      ],
      { try TransferStore(home: home).list().transfers.count == 1 ? nil : "the record is gone" }
    )
  }

  /// Two processes that start for the first time show one key.
  private static let firstStarts = Meeting(name: "identity × identity") { scratch in
    let home = scratch.at("home")
    let shown = Mutex<[[UInt8]]>([])
    let start: Strand = {
      let key = try TransferStore(home: home).identity(orMake: true)?.encoded() ?? []
      shown.withLock { $0.append(key) }
      return nil
    }
    return (
      [start, start],
      {
        let kept = try TransferStore(home: home).identity(orMake: false)?.encoded() ?? []
        return shown.withLock { $0.allSatisfy { $0 == kept } } ? nil : "a key was shown that is not on the disk"
      }
    )
  }

  /// Two first senders name their sources alike.
  private static let firstNames = Meeting(name: "naming × naming") { scratch in
    let home = scratch.at("home")
    let secrets = Mutex<Set<UInt128>>([])
    let start: Strand = {
      let secret = TransferStore(home: home).naming().secret
      secrets.withLock { _ = $0.insert(secret) }
      return nil
    }
    return ([start, start], { secrets.withLock { $0.count } == 1 ? nil : "they have two secrets" })
  }

  /// What the disk has lost is synced for neither of two threads.
  private static let twoSyncs = Meeting(name: "sync × sync") { scratch in
    scratch.write("in/x", .init())
    let parent = SharedDirectory(try Directory.open(scratch.at("in")))
    let offer = Offer(.folders([Root(kind: .directory, name: [0x61])]), PartTotals(items: 1, bytes: 1, allocated: 1))
    let staging = try Staging(
      on: try DirectoryDisk(making: Staging.name(of: 7), in: parent), for: offer, transfer: 7,
      keys: TransferKeys(hashKey: 7))
    let isLost = Mutex(false)
    let sync: Strand = {
      let wasLost = isLost.withLock { $0 }
      guard (try? staging.synchronize()) != nil else { return nil }
      return wasLost ? "lost data was synced" : nil
    }
    return (
      [
        {
          world_lose_writes()
          isLost.withLock { $0 = true }
          return try sync()
        }, sync, sync,
      ], { nil }
    )
  }

  /// Of two senders, one has a known device, and the other one says so.
  private static let twoSenders = Meeting(name: "hold × greeting") { scratch in
    let home = scratch.at("home")
    let store = TransferStore(home: home)
    let (own, other) = (try Identity.generate(), try Identity.generate().fingerprint)
    _ = try store.expect(other, as: .sender, by: own, at: "192.0.2.1", meeting: nil)
    let holds = Mutex<[SharedDirectory]>([])
    let take: Strand = {
      do throws(Failure) {
        guard let hold = try TransferStore(home: home).hold(other) else { return "the device is not known" }
        holds.withLock { $0.append(hold) }
      } catch {
        guard error.code == .inUse else { throw error }
      }
      return nil
    }
    return ([take, take], { holds.withLock { $0.count } == 1 ? nil : "\(holds.withLock { $0.count }) have it" })
  }

  private static func remembered(_ transfer: TransferID) throws -> TransferRecord {
    let identity = try Identity.generate()
    return TransferRecord(
      transfer: transfer, role: .sender, identity: try identity.encoded(), peer: identity.fingerprint, label: "",
      address: "192.0.2.7:1", started: 1, lastSeen: 2, total: Tally(), held: Tally(), subject: .sources([[0x2F]]),
      plan: Plan([Part(.folders([Root(kind: .file, name: [0x61])]), name: "a")]), parts: [PartRecord()])
  }
}
