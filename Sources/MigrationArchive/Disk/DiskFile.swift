package import MigrationSystem
package import MigrationWire

/// An open file or directory of a real file system.
package final class DiskFile: StagedFile {
  private let descriptor: Descriptor

  /// Takes ownership of a descriptor.
  package init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

  /// Closes the file for all users of it.
  func letGo() { try? descriptor.letGo() }

  package func write(at offset: UInt64, _ bytes: Span<UInt8>) throws(SystemError) {
    try descriptor.write(at: Int64(offset), bytes)
  }

  package func read(at offset: UInt64, into memory: inout MutableSpan<UInt8>) throws(SystemError) -> Int {
    try descriptor.readFully(at: Int64(offset), into: &memory)
  }

  package func size() throws(SystemError) -> UInt64 { UInt64(try descriptor.status().size) }

  /// XFS gives a growing file up to as many bytes again; other file systems round to blocks.
  package func reserved() -> UInt64 {
    guard let status = try? descriptor.status(), status.allocatedBytes - status.size > 1 << 20 else { return 0 }
    return UInt64(status.allocatedBytes - status.size)
  }

  package func truncate(to size: UInt64) throws(SystemError) { try descriptor.truncate(to: Int64(size)) }

  package func clear(_ range: Range<UInt64>) throws(SystemError) {
    // The bytes behind the end are zeros already.
    let end = min(range.upperBound, try size())
    if range.lowerBound < end { try descriptor.clear(Int64(range.lowerBound)..<Int64(end)) }
  }

  package func setMode(_ mode: UInt32) throws(SystemError) { try descriptor.setMode(mode) }

  package func setOwner(_ owner: ItemRecord.Owner) throws(SystemError) {
    try descriptor.setOwner(user: owner.user, group: owner.group)
  }

  package func setAttribute(_ attribute: ExtendedAttribute) throws(SystemError) {
    try descriptor.setAttribute(attribute.name, attribute.value)
  }

  package func setAccessList(_ list: [AccessEntry], _ kind: AccessListKind) throws(SystemError) {
    try descriptor.setAccessList(list, kind)
  }

  package func clearExtendedMetadata() throws(SystemError) { try descriptor.clearExtendedMetadata() }

  func extendedMetadata() throws(SystemError) -> ExtendedMetadata { try ExtendedMetadata(of: descriptor) }

  package func setTimes(modified: Timestamp) throws(SystemError) { try descriptor.setTimes(modified: modified) }

  package func synchronize() throws(SystemError) { try descriptor.synchronizeData() }
}
