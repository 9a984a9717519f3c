package import MigrationSystem
package import MigrationWire

extension ItemTime {
  /// Converts a file system's time to the protocol's form.
  package init(_ time: Timestamp) {
    self.init(seconds: time.seconds, nanoseconds: time.nanoseconds)
  }
}

extension Timestamp {
  /// Converts a time of the protocol to the file system's form.
  package init(_ time: ItemTime) {
    self.init(seconds: time.seconds, nanoseconds: time.nanoseconds)
  }
}

extension FileStatus {
  /// The data that a generation is computed from (Protocol §9.1).
  func fingerprint(on fileSystem: UInt64) -> SourceFingerprint {
    fingerprint(on: fileSystem, changed: changed)
  }

  fileprivate func fingerprint(on fileSystem: UInt64, changed: Timestamp) -> SourceFingerprint {
    SourceFingerprint(
      fileSystem: fileSystem, inode: inode, size: UInt64(size), modified: ItemTime(modified), changed: ItemTime(changed)
    )
  }

  /// For how long after `now` a further change could still get the stamp of the last change; 0 if
  /// it no longer can.
  func unsettledSeconds(at now: Timestamp) -> Double {
    // File systems without fractions of a second count whole seconds; the others follow the
    // kernel's tick.
    let granule = changed.nanoseconds == 0 ? 2.0 : 0.012
    let age = now.seconds(since: changed)
    return abs(age) < granule ? granule - age : 0
  }

  /// Whether all data that a generation is computed from is unchanged.
  func isSameState(as other: FileStatus) -> Bool {
    fingerprint(on: device) == other.fingerprint(on: other.device)
  }
}

extension FileStatus {
  /// When a file, or its metadata, last changed; nil if its file system does not say.
  var changedAtSource: ItemTime? { changed.seconds == 0 ? nil : ItemTime(changed) }
}

extension SourceStatus {
  /// The data that the generation of an item is computed from, for an item that one look reads
  /// completely. While another change could have the same time stamp, the generation is one that no
  /// later session finds again: the item is then sent once more, which costs less than waiting now.
  func fingerprint(on fileSystem: UInt64) -> SourceFingerprint {
    unsettledSeconds > 0 ? momentaryFingerprint(on: fileSystem) : status.fingerprint(on: fileSystem)
  }

  /// Data for a generation that no other session has, regardless of the file system's report.
  func momentaryFingerprint(on fileSystem: UInt64) -> SourceFingerprint {
    status.fingerprint(on: ~fileSystem, changed: now)
  }
}

extension ItemRecord {
  /// The record of a source item; nil for a type that is not sent.
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
    if status.kind != .symbolicLink { changed = status.changedAtSource }
    if withOwner { owner = Owner(user: status.owner, group: status.group) }
  }
}
