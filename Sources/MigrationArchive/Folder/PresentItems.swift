import MigrationSystem
package import MigrationWire

/// The existing items in the roots of an offer, as the receiver reports them to a sender (Protocol
/// §6.4). Some items need not be sent again; others must not be sent because the existing ones are
/// kept.
package struct PresentItems: Equatable, Sendable {
  /// Marks of kind 2, ascending.
  package private(set) var present: [Mark] = []
  /// Marks of kind 3, ascending.
  package private(set) var taken: [Mark] = []

  /// The total of the existing items: an offer of the same items need not send these bytes.
  private(set) var tally = Tally()
  /// The greatest unit, in nanoseconds, of which every existing time is a multiple; 0 if there are
  /// no times.
  private var timeUnit: UInt128 = 0

  package init() {}

  /// Known items: marks, ascending.
  package init(present: [Mark], taken: [Mark]) {
    self.present = present
    self.taken = taken
  }

  /// Examines every existing name, without following links or entering other file systems. It opens
  /// no file. It reports at most as many names as a sender keeps; if the sender sends items of the
  /// other names, the import handles them. Times are rounded to multiples of this many nanoseconds,
  /// as the sender rounds its own.
  init(
    beneath roots: [[UInt8]], of destination: borrowing Directory, keys: TransferKeys, timeGranularity: UInt32 = 1
  ) throws(SystemError) {
    try Self.walk(roots, destination) { path, status, target in
      tally = tally.adding(
        Tally(items: 1, bytes: status.kind == .regular ? UInt64(max(0, status.allocatedBytes)) : 0))
      guard taken.count < Limits.presentMarks else { return }
      taken.append(keys.takenMark(path: path))
      switch status.kind {
      case .regular:
        let modified = ItemTime(status.modified).rounded(to: timeGranularity)
        note(modified)
        present.append(keys.presentMark(path: path, size: UInt64(status.size), modified: modified))
      case .symbolicLink: if let target { present.append(keys.presentMark(path: path, target: target)) }
      case .directory, .fifo, .socket, .blockDevice, .characterDevice: break
      }
    }
    present.sort()
    taken.sort()
  }

  private mutating func note(_ time: ItemTime) {
    guard timeUnit != 1 else { return }
    var rest = (Int128(time.seconds) * 1_000_000_000 + Int128(time.nanoseconds)).magnitude
    while rest != 0 { (timeUnit, rest) = (rest, timeUnit % rest) }
  }

  /// Whether its times are multiples of so many nanoseconds, so that rounding them would change
  /// nothing.
  func isExact(timeGranularity: UInt32) -> Bool {
    timeGranularity <= 1 || timeUnit % UInt128(timeGranularity) == 0
  }

  private typealias Visit = (ArchivePath, FileStatus, _ target: [UInt8]?) -> Void

  /// Walks the destination, with one open directory at a time.
  private static func walk(
    _ roots: [[UInt8]], _ destination: borrowing Directory, _ visit: Visit
  ) throws(SystemError) {
    let device = try destination.status().device
    var pending: [ArchivePath] = []
    for name in roots {
      guard let path = try? ArchivePath(name) else { continue }
      try look(at: path, in: destination, device, &pending, visit)
    }
    while let path = pending.popLast() {
      do throws(SystemError) {
        let directory = try destination.openDirectoryBeneath(path.bytes)
        var names: [[UInt8]] = []
        try directory.forEachEntry { (name, _) throws(SystemError) in
          names.append([UInt8](copying: name))
          return true
        }
        for name in names {
          guard let child = try? path.appending(name.span) else { continue }
          try look(at: child, in: directory, device, &pending, visit)
        }
      } catch {
        // A directory that cannot be listed, or has been removed, is not reported: the import meets
        // its entries when it needs their names.
        guard error.isNotFound || error.isNotDirectory || error.isSymbolicLink || error.isPermissionDenied else {
          throw error
        }
      }
    }
  }

  private static func look(
    at path: ArchivePath, in directory: borrowing Directory, _ device: UInt64, _ pending: inout [ArchivePath],
    _ visit: Visit
  ) throws(SystemError) {
    let status: FileStatus
    do {
      status = try directory.status(path.name)
    } catch  where error.isNotFound {
      return
    }
    let target = status.kind == .symbolicLink ? try? directory.readLink(path.name) : nil
    visit(path, status, target)
    if status.kind == .directory, status.device == device { pending.append(path) }
  }
}
