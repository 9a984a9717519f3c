package import MigrationArchive
import MigrationEngine
import MigrationSystem
package import MigrationWire

/// The records of the items that have arrived from a known device.
extension TransferStore {
  /// The record of the items that the sources of a part have brought to a place; nil if the device
  /// is not known, or if such parts have no record.
  package func arrivedItems(
    from peer: KeyFingerprint, _ part: Part, at place: [UInt8], removals: [[UInt8]: ArrivedItems.Removals] = [:]
  ) throws(Failure) -> ArrivedItems? {
    try arrivedItems(from: peer, part, at: place, removals) { (folder, name) throws(SystemError) in
      try folder.openOrCreateFile(name)
    }
  }

  private func arrivedItems(
    from peer: KeyFingerprint, _ part: Part, at place: [UInt8], _ removals: [[UInt8]: ArrivedItems.Removals] = [:],
    by open: (borrowing Directory, [UInt8]) throws(SystemError) -> Descriptor
  ) throws(Failure) -> ArrivedItems? {
    guard let name = part.nameOfArrivals, device(peer, as: .receiver) != nil,
      let folder = try openFolder(Self.devicesFolder)
    else { return nil }
    var hash = SipHash(key: 0)
    hash.combine(place + [0] + Array(name.utf8))
    let file = "brought-\(hash.finish().hexadecimal)"
    return try storing { () throws(SystemError) in
      let directory = try folder.directory.openChildDirectory(Array(peer.description.utf8))
      return try ArrivedItems(
        DiskFile(try open(directory, Array(file.utf8))), of: part.sourcesOfRoots, removals: removals)
    }
  }

  /// The records of what the sources of a part have brought to a place, for a look that writes nothing.
  package func arrivedItems(of part: Part, at place: [UInt8]) -> [ArrivedItems] {
    let devices = (try? devices(as: .receiver)) ?? []
    return devices.compactMap { device in
      let items = try? arrivedItems(from: device.peer, part, at: place) { (folder, name) throws(SystemError) in
        try folder.openChild(name)
      }
      return items ?? nil
    }
  }
}

extension Part {
  /// The name of the record of what has arrived; nil for those whose importers know what they have.
  fileprivate var nameOfArrivals: String? {
    switch contents {
    case .role, .files, .folders: lastingName
    case .app, .unknown: nil
    }
  }
}
