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
    fingerprint(on: fileSystem, changed: changed)
  }

  fileprivate func fingerprint(on fileSystem: UInt64, changed: Timestamp) -> SourceFingerprint {
    SourceFingerprint(
      fileSystem: fileSystem, inode: inode, size: UInt64(size), modified: ItemTime(modified), changed: ItemTime(changed)
    )
  }

  /// How long after `now` another change could still get the time stamp of the last one; 0 if it cannot any more.
  func unsettledSeconds(at now: Timestamp) -> Double {
    // File systems without fractions of a second count whole ones; the others follow the kernel's tick.
    let granule = changed.nanoseconds == 0 ? 2.0 : 0.012
    let age = now.seconds(since: changed)
    return abs(age) < granule ? granule - age : 0
  }

  /// Whether nothing that a generation is made of has changed.
  func isSameState(as other: FileStatus) -> Bool {
    fingerprint(on: device) == other.fingerprint(on: other.device)
  }
}

extension SourceLook {
  /// What the generation of something is made of that is read by one look. While another change could hide behind the same
  /// time stamp it is one that no later session finds again: the item is sent once more then, which costs less than waiting now.
  func fingerprint(on fileSystem: UInt64) -> SourceFingerprint {
    unsettledSeconds > 0 ? momentaryFingerprint(on: fileSystem) : status.fingerprint(on: fileSystem)
  }

  /// One that no other session has, whatever the file system tells.
  func momentaryFingerprint(on fileSystem: UInt64) -> SourceFingerprint {
    status.fingerprint(on: ~fileSystem, changed: now)
  }
}

extension ItemRecord {
  /// The record of a source item; nil for a kind that does not travel.
  init?(
    _ status: FileStatus, path: ArchivePath, generation: Generation, target: [UInt8]? = nil, withOwner: Bool = false
  ) {
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
    if withOwner { owner = Owner(user: status.owner, group: status.group) }
  }
}
