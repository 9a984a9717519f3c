import MigrationSystem
import MigrationWire

extension DirectoryPlaces {
  private static let block = 1 << 20

  func makeCopy(_ path: ArchivePath, of target: ArchivePath) throws(SystemError) {
    let parent = try existingParent(of: target)
    let status = try parent.directory.status(target.name)
    guard status.kind == .regular else { throw SystemError(reason: "it is not a regular file", operation: "copy") }
    let original = try open(target)
    let extended = try original.extendedMetadata()
    // Opening may have changed the permissions.
    try parent.directory.setMode(target.name, status.mode)
    let copy = try createFile(path, mode: 0o600)
    try Self.copyContent(of: original, to: copy)
    for attribute in extended.attributes { try copy.setAttribute(attribute) }
    // A process that may not set the owner already owns both files.
    try? copy.setOwner(ItemRecord.Owner(user: status.owner, group: status.group))
    if !extended.accessList.isEmpty { try copy.setAccessList(extended.accessList, .access) }
    try copy.setMode(status.mode)
    try copy.setTimes(modified: status.modified)
  }

  private static func copyContent(of original: any StagedFile, to copy: any StagedFile) throws(SystemError) {
    var bytes = [UInt8](repeating: 0, count: block)
    var position: UInt64 = 0
    while true {
      let count = try original.read(at: position, into: &bytes, 0..<block)
      // A block of zeros stays a hole, as it usually was in the source.
      if bytes[..<count].contains(where: { $0 != 0 }) {
        try copy.write(at: position, bytes.span.extracting(..<count))
      }
      position += UInt64(count)
      if count < block { break }
    }
    try copy.truncate(to: position)
  }
}
