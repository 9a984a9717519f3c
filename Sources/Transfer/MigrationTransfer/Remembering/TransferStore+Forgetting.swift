import MigrationArchive
import MigrationEngine
import MigrationSystem
package import MigrationWire

extension TransferStore {
  /// A transfer that was removed.
  package struct Forgotten: Equatable, Sendable {
    package let transfer: TransferID
    /// The parts that could not be removed with it.
    package var notice: String?
  }

  /// One end of a transfer to remove: its locked directory, and its record if that can be read.
  private struct Taken {
    let name: [UInt8]
    let directory: SharedDirectory
    let remembered: TransferRecord?
  }

  /// The fewest digits of an identifier that the user may give.
  package static let shortestPrefix = 4

  /// Removes the staging directory and the record of the transfer whose identifier begins with some
  /// digits. If this device is both ends, it removes both.
  package func forget(_ prefix: String) throws(Failure) -> Forgotten {
    guard let (transfers, names) = try named(prefix) else { return try forgetLeftover(prefix) }
    // Locks both before it removes one.
    var taken: [Taken] = []
    for name in names { if let end = try take(name, in: transfers) { taken.append(end) } }
    var forgotten = Forgotten(
      transfer: TransferID(String(decoding: names[0].prefix(32), as: UTF8.self), radix: 16) ?? 0)
    for end in taken { forgotten.notice = try remove(end, in: transfers) ?? forgotten.notice }
    return forgotten
  }

  /// Removes the unfinished transfers without a connection for more than so many seconds; those that a
  /// process works on stay. So does data without a record, as another store may have that: the user
  /// names it.
  package func forget(olderThan age: Int64, at time: StoreTime) throws(Failure) -> [Forgotten] {
    let listing = try list()
    var forgotten: [Forgotten] = []
    for listed in listing.transfers where !listed.isInUse && !listed.remembered.isDone {
      if time.isOver(age, since: listed.remembered.lastSeen) {
        forgotten.append(try forget(listed.remembered.transfer.hexadecimal))
      }
    }
    return forgotten
  }

  /// Removes the staged data without a record, of the only part with a prefix.
  private func forgetLeftover(_ prefix: String) throws(Failure) -> Forgotten {
    let found = try listEverything().leftovers.filter {
      $0.identifier.hexadecimal.hasPrefix(prefix)
    }
    guard let identifier = found.first?.identifier else {
      throw Failure(
        .usage, "no transfer has an ID that begins with '\(prefix)'", hint: "'peer resume list' shows them all.")
    }
    try Self.checkOnly(Set(found.map(\.identifier)).count, prefix)
    for leftover in found { try remove(leftover) }
    return Forgotten(transfer: identifier)
  }

  private static func checkOnly(_ count: Int, _ prefix: String) throws(Failure) {
    guard count == 1 else {
      throw Failure(
        .usage, "\(count) transfers have an ID that begins with '\(prefix)'", hint: "Write more digits of it.")
    }
  }

  /// The directories of the only transfer with a prefix; nil if there is none.
  private func named(_ prefix: String) throws(Failure) -> (transfers: SharedDirectory, names: [[UInt8]])? {
    guard let transfers = try openIfThere() else { return nil }
    let found = try names(transfers).filter { $0.starts(with: prefix.utf8) }
    if found.isEmpty { return nil }
    try Self.checkOnly(Set(found.map { $0.prefix(32) }).count, prefix)
    return (transfers, found)
  }

  private func take(_ name: [UInt8], in transfers: SharedDirectory) throws(Failure) -> Taken? {
    let directory: SharedDirectory
    let isOurs: Bool
    do throws(SystemError) {
      directory = SharedDirectory(try transfers.directory.openChildDirectory(name))
      isOurs = try directory.directory.descriptor.lock()
    } catch {
      if error.isNotFound { return nil }
      throw Failure(store: "the transfer \(Self.shown(name)) cannot be taken", error)
    }
    guard isOurs else {
      throw Failure.taken(Self.shown(name), by: directory.directory.descriptor.lockHolder())
    }
    let remembered = try? Self.remembered(Self.read(directory.directory), name, allowsOlder: true)
    return Taken(name: name, directory: directory, remembered: remembered)
  }

  /// Removes the staging directory and the record. Returns a part that may still be there, if any.
  private func remove(_ end: Taken, in transfers: SharedDirectory) throws(Failure) -> String? {
    if let remembered = end.remembered { return try discard(end.name, remembered, in: transfers) }
    let isReceiver = end.name.suffix(7) == Array("receive".utf8)[...]
    let digits = String(decoding: end.name.prefix(32), as: UTF8.self)
    let isLost = isReceiver ? try removeLeftovers(digits) == 0 : false
    try removeRecord(end.name, in: transfers)
    return isLost ? "it is not known any more where it was to arrive: \".peer-\(digits)\" may be left there" : nil
  }

  /// Removes the staging directory and the record of a transfer that this process has locked. Returns a
  /// part that may still be there, if any.
  func discard(
    _ name: [UInt8], _ remembered: TransferRecord, in transfers: SharedDirectory
  ) throws(Failure) -> String? {
    let left = try Self.clear(remembered)
    try removeRecord(name, in: transfers)
    return left
  }

  private func removeRecord(_ name: [UInt8], in transfers: SharedDirectory) throws(Failure) {
    do {
      // The process that worked on it may have been faster.
      try transfers.directory.removeTree(ifThere: name)
      try transfers.directory.synchronize()
    } catch {
      throw Failure(store: "the record of the transfer cannot be removed", error)
    }
  }

  /// Removes the staging directories. Returns a part that may still be there, if any.
  private static func clear(_ remembered: TransferRecord) throws(Failure) -> String? {
    guard let destination = remembered.destination else { return nil }
    var left: String?
    for (number, part) in remembered.parts.enumerated() {
      guard let begun = part.begun else { continue }
      let identifier = remembered.transfer.ofPart(UInt16(number))
      let clause = try StagingArea.discard(
        identifier, begun.keys, from: begun.elsewhere ?? destination, isFinished: part.finished != nil)
      left = clause ?? left
    }
    return left
  }

  /// The part of an identifier that people are shown.
  private static func shown(_ name: [UInt8]) -> String { String(decoding: name.prefix(8), as: UTF8.self) }
}
