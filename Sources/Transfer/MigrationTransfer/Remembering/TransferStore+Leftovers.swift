import MigrationArchive
import MigrationEngine
import MigrationSystem
package import MigrationWire

/// Staged data in the destinations of this store without a record in this store: the record is lost
/// or damaged, or in another store.
extension TransferStore {
  /// The staged data of one part.
  package struct Leftover: Equatable, Sendable {
    /// The number in its name: the part's name on this device.
    package let identifier: TransferID
    package let name: [UInt8]
    /// The absolute path of the directory that it is in.
    package let destination: [UInt8]
    /// In seconds since 1970.
    package let modified: Int64
  }

  /// All records, and the data without one.
  package func listEverything() throws(Failure) -> Listing {
    var listing = try list()
    listing.leftovers = try leftovers(besides: listing)
    return listing
  }

  private func leftovers(besides listing: Listing) throws(Failure) -> [Leftover] {
    var known = Set(listing.damaged.map(\.identifier))
    for remembered in listing.transfers.map(\.remembered) {
      for part in remembered.parts.indices { known.insert(remembered.transfer.ofPart(UInt16(part)).hexadecimal) }
    }
    return try destinations().flatMap { Self.staged(in: $0) }.filter { !known.contains($0.identifier.hexadecimal) }
      .sorted { ($0.identifier, $0.destination.count) < ($1.identifier, $1.destination.count) }
  }

  /// This user's private directories with names of staging.
  private static func staged(in destination: [UInt8]) -> [Leftover] {
    guard let directory = try? Directory.open(destination) else { return [] }
    return ((try? directory.names()) ?? []).filter { Staging.isName($0) }.compactMap { name in
      guard let identifier = TransferID(String(decoding: name.dropFirst(6).prefix(32), as: UTF8.self), radix: 16),
        let status = try? directory.status(name), status.kind == .directory, status.mode & 0o077 == 0,
        status.owner == CurrentProcess.effectiveUserID
      else { return nil }
      return Leftover(
        identifier: identifier, name: name, destination: destination, modified: status.modified.seconds)
    }
  }

  /// Removes the leftovers whose number begins with some digits, in every destination; returns how
  /// many there were.
  func removeLeftovers(_ prefix: String) throws(Failure) -> Int {
    let found = try destinations().flatMap { Self.staged(in: $0) }.filter {
      $0.identifier.hexadecimal.hasPrefix(prefix)
    }
    for leftover in found { try remove(leftover) }
    return found.count
  }

  /// Removes one, unless a receiver of this store is at work there, or its import has set old data
  /// aside: without its record, nothing can bring that back.
  func remove(_ leftover: Leftover) throws(Failure) {
    do {
      let directory = SharedDirectory(try Directory.open(leftover.destination))
      let hold = try lock(try directory.directory.status(), at: leftover.destination)
      if let aside = try StagingArea.setAside(by: leftover.name, in: directory).first {
        throw Failure(
          .importFailed,
          "\(VisibleText.quoted(leftover.name)) has new data for old data that is set aside as "
            + VisibleText.quoted(aside),
          hint: "Give the old data its name back, or another one, and forget the transfer again.",
          name: aside.bytes)
      }
      try directory.directory.removeTree(leftover.name)
      try directory.directory.synchronize()
      extendLifetime(hold)
    } catch let error as SystemError {
      throw Failure(store: "\(VisibleText.quoted(leftover.name)) cannot be removed", error)
    } catch {
      throw Failure(error)
    }
  }
}
