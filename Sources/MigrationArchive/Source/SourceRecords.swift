package import MigrationSystem
package import MigrationWire

extension ItemTime {
  /// A file system's time, as it travels.
  package init(_ time: Timestamp) {
    self.init(seconds: time.seconds, nanoseconds: time.nanoseconds)
  }
}

extension Timestamp {
  /// A time that travelled, as a file system takes it.
  package init(_ time: ItemTime) {
    self.init(seconds: time.seconds, nanoseconds: time.nanoseconds)
  }
}

extension FileStatus {
  /// What a generation is made of (Protocol §9.1).
  func fingerprint(on fileSystem: UInt64) -> SourceFingerprint {
    SourceFingerprint(
      fileSystem: fileSystem, inode: inode, size: UInt64(size), modified: ItemTime(modified), changed: ItemTime(changed)
    )
  }

  /// Whether nothing that a generation is made of has changed.
  func isSameState(as other: FileStatus) -> Bool {
    fingerprint(on: device) == other.fingerprint(on: other.device)
  }
}

extension ItemRecord {
  /// The record of a source item; nil for a kind that does not travel.
  init?(_ status: FileStatus, path: ArchivePath, generation: Generation, target: [UInt8]? = nil) {
    let body: Body
    switch status.kind {
    case .directory: body = .directory
    case .regular: body = .file(size: UInt64(status.size))
    case .symbolicLink:
      guard let target else { return nil }
      body = .symbolicLink(target: target)
    default: return nil
    }
    self.init(
      path: path, generation: generation, body: body,
      mode: status.kind == .symbolicLink ? nil : UInt16(truncatingIfNeeded: status.mode & 0o7777),
      modified: ItemTime(status.modified))
  }
}
