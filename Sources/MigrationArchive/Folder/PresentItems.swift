import MigrationSystem
package import MigrationWire

/// What the destination has beneath the roots of an offer, as a sender is told of it: what need not be sent again, and what
/// must not since it stays as it is (Protocol §6.4).
package struct PresentItems: Equatable, Sendable {
  /// Marks of kind 2, ascending.
  package private(set) var present: [Mark] = []
  /// Marks of kind 3, ascending.
  package private(set) var taken: [Mark] = []

  /// What everything there takes: so much of an offer of the same need not come.
  private(set) var tally = Tally()
  /// The greatest unit that every time there is a multiple of, in nanoseconds; 0 where there is no time.
  private var timeUnit: UInt128 = 0

  package init() {}

  /// What is known already: marks, ascending.
  package init(present: [Mark], taken: [Mark]) {
    self.present = present
    self.taken = taken
  }

  /// Looks at every name there, through no link and into no other file system. No file is opened. Of more names than a sender
  /// keeps it is not told: what is sent of them nevertheless is dealt with when it is imported.
  /// Times are told in multiples of so many nanoseconds, as the sender rounds its own.
  init(
    beneath roots: [[UInt8]], of destination: borrowing Directory, keys: TransferKeys, timeGranularity: UInt32 = 1
  ) throws(SystemError) {
    try PresentWalk.run(roots, destination) { path, status, target in
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

  /// Whether its times are multiples of so many nanoseconds, so that rounding them would change nothing.
  func isExact(timeGranularity: UInt32) -> Bool {
    timeGranularity <= 1 || timeUnit % UInt128(timeGranularity) == 0
  }
}

/// A walk over the destination, one open directory at a time.
private enum PresentWalk {
  typealias Visit = (ArchivePath, FileStatus, _ target: [UInt8]?) -> Void

  static func run(
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
        // What cannot be listed, or has gone, is not told: then it is found when its name is to be given.
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
