import Foundation
import MigrationSystem
import MigrationTLS
import MigrationWire

@testable import MigrationTransfer

/// What the records of both devices say at last.
enum Promises {
  /// What is broken of it, if anything. When all is over, nothing is unfinished.
  static func brokenInHomes(isOver: Bool, mayHaveLeftovers: Bool = false) -> String? {
    do {
      let homes = [Ends.oldHome, Ends.newHome]
      let stores = homes.map { TransferStore(home: Array($0.utf8)) }
      for (store, home) in zip(stores, homes) {
        let listing = try store.listEverything()
        if let damaged = listing.damaged.first {
          return "the record \(damaged.identifier) in \(home): \(damaged.reason)"
        }
        if let leftover = listing.leftovers.first(where: { !mayHaveLeftovers || !hasLostJournal($0) }) {
          return "nothing names \(leftover.identifier.hexadecimal)"
        }
        if isOver, let left = listing.transfers.first(where: { !$0.remembered.isDone }) {
          return "\(left.remembered.transfer.hexadecimal) in \(home) is still there"
        }
      }
      // The receiver has one key for all senders.
      let key = try stores[1].identity(orMake: false)?.fingerprint
      for device in try stores[0].devices() where device.peer != key {
        return "the receiver is known by a key that is not on its disk"
      }
      return nil
    } catch {
      return "the records: \(error)"
    }
  }

  /// Whether the disk has lost the beginning of its journal: nothing shows whose it is any more.
  private static func hasLostJournal(_ leftover: TransferStore.Leftover) -> Bool {
    let path = String(decoding: leftover.destination + Array("/".utf8) + leftover.name, as: UTF8.self)
    return Tree.content("\(path)/journal", 8).allSatisfy { $0 == 0 }
  }

  /// Whether the sender has a record of a transfer that has come to its end.
  static var isEndUntold: Bool { hasSent { $0 } }

  /// Whether the sender has a record of a transfer whose end it does not know.
  static var isEndUnknown: Bool { hasSent { !$0 } }

  /// Whether the sender has a record of a transfer for which that is so: that it is done.
  private static func hasSent(_ isMeant: (Bool) -> Bool) -> Bool {
    let listing = try? TransferStore(home: Array(Ends.oldHome.utf8)).list()
    return listing?.transfers.contains { isMeant($0.remembered.isDone) } ?? false
  }

  /// Whether the sender has paired anew, as when two begin at once: then it has brought nothing yet.
  static var hasPairedAgain: Bool {
    ((try? TransferStore(home: Array(Ends.newHome.utf8)).devices().count) ?? 0) > 1
  }
}

extension Tree {
  var withoutStaging: Tree { filtered { !$0.hasPrefix(".peer-") } }

  func without(_ folder: String) -> Tree { filtered { $0 != folder && !$0.hasPrefix(folder + "/") } }

  /// What is staged, by its later paths.
  var staged: Tree {
    var tree = Tree()
    for (path, item) in items where path.hasPrefix(".peer-") {
      let parts = path.split(separator: "/", maxSplits: 2)
      if parts.count == 3, parts[1] == "tree" { tree.items[String(parts[2])] = item }
    }
    return tree
  }

  /// Whether it has all items of another one.
  func contains(_ other: Tree) -> Bool { filtered { other.items[$0] != nil }.difference(from: other) == nil }

  private func filtered(_ isPart: (String) -> Bool) -> Tree {
    var tree = self
    tree.items = items.filter { isPart($0.key) }
    return tree
  }
}
