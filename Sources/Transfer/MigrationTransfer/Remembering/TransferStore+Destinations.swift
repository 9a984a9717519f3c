import MigrationArchive
import MigrationSystem
import MigrationWire

/// The directories into which receivers of this store have received, each for one receiver at a time.
extension TransferStore {
  static let destinationsFolder = Array("destinations".utf8)

  /// Keeps this user's other receivers away from a directory as long as the result lives, and
  /// remembers where it is.
  ///
  /// One lock is on a file of the store, named for the directory. The file remains. The other one, for the
  /// receivers of other stores, is on the directory itself: any user who may read that could lock it, so only a
  /// process of this user counts there.
  func lock(_ directory: FileStatus, at path: [UInt8]) throws(Failure) -> [DiskFile] {
    let file = try storing { () throws(SystemError) in
      try openOrMakeFolder(Self.destinationsFolder).directory.openOrCreateFile(Self.lockName(directory))
    }
    // A file system without locks cannot detect other receivers.
    guard (try? file.lockOnceFree()) != false else { throw Self.inUse(path, by: file.lockHolder()) }
    var locks: [DiskFile] = []
    if let place = try? Directory.open(path).release(), (try? place.status().inode) == directory.inode {
      if (try? place.lockOnceFree()) == false, let holder = place.lockHolder(),
        (try? Directory.status(of: Array("/proc/\(holder)".utf8)).owner) == CurrentProcess.effectiveUserID
      {
        throw Self.inUse(path, by: holder)
      }
      locks.append(DiskFile(place))
    }
    // A receiver can do without this: it only tells where to look for leftovers.
    try? file.write(at: 0, path.span)
    try? file.truncate(to: Int64(path.count))
    return locks + [DiskFile(file)]
  }

  private static func inUse(_ path: [UInt8], by process: CInt?) -> Failure {
    let holder = process.map { " (process \($0))" } ?? ""
    return Failure(
      .inUse, "another 'peer receive'\(holder) is already receiving into \(VisibleText.quoted(path))", name: path)
  }

  private static func lockName(_ directory: FileStatus) -> [UInt8] {
    Array("\(directory.device)-\(directory.inode)".utf8)
  }

  /// The directories into which receivers of this store have received.
  func destinations() throws(Failure) -> [[UInt8]] {
    guard let folder = try openFolder(Self.destinationsFolder) else { return [] }
    return try storing { () throws(SystemError) in
      let paths = try folder.directory.names().compactMap {
        try? folder.directory.openChild($0).readAll(limit: 1 << 16)
      }
      return Set(paths.filter { $0.first == UInt8(ascii: "/") }).sorted { $0.lexicographicallyPrecedes($1) }
    }
  }
}
