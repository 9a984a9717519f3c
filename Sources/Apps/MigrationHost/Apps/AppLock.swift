import MigrationArchive
import MigrationSystem
package import MigrationWire

/// The right to use an app's data for a purpose, until the last process with the descriptor
/// releases it.
///
/// Running is shared with other processes of the app; all other uses are exclusive.
package final class AppLock: Sendable {
  /// The purpose of using the data.
  package enum Use: String, CaseIterable, Sendable {
    case running
    case migrating
    case installing
    case removing
  }

  /// The holder of a lock, as far as visible from outside.
  package struct Holder: Equatable, Sendable {
    package let use: Use?
    package let process: Int32
  }

  package let use: Use
  /// Open for reading only, where the file system locks such a file: an extension inherits it.
  private let file: SharedDescriptor

  private init(_ use: Use, _ file: SharedDescriptor) {
    self.use = use
    self.file = file
  }

  /// The same lock, for a process that also holds it.
  func duplicate() throws(SystemError) -> Descriptor { try file.descriptor.duplicate() }

  /// Lets the program that this process becomes keep the lock.
  package func keepOnExec() throws(Failure) {
    try Failure.wrapping(.failed, "the app's lock cannot be passed on", file.descriptor.keepOnExec())
  }

  /// Lets other processes take the lock, although this object and its duplicates still exist.
  func release() { try? file.descriptor.unlock() }

  /// Removes the file of an app's lock, with the app. Needs the lock, which another
  /// process can take from then on.
  static func remove(_ identifier: String, in files: HomeFiles) throws(Failure) {
    try files.remove(place(identifier))
  }

  /// Takes the lock of an app, or fails with its holder.
  ///
  /// - Parameter noun: the noun for the app in messages.
  static func take(
    _ use: Use, of identifier: String, in files: HomeFiles, called noun: String = "app"
  ) throws(Failure) -> AppLock {
    while true {
      try files.makeDirectory(AppHome.Folder.locks.rawValue)
      guard let locks = try files.open(AppHome.Folder.locks.rawValue) else {
        throw Failure(.failed, "\"\(files.path("locks"))\" was removed meanwhile")
      }
      let locked = try Failure.wrapping(
        .failed, "the app \(identifier) cannot be locked", lock(identifier, in: locks.directory, for: use))
      // Otherwise the app was removed meanwhile, with the file.
      guard let (file, isTaken) = locked else { continue }
      guard isTaken else { throw .inUse("\(noun) \(identifier)", holder(file.descriptor), name: identifier) }
      return AppLock(use, file)
    }
  }

  /// Locks a file, unless another process has the lock; nil if the file's name no longer leads
  /// to the file.
  private static func lock(
    _ name: String, in locks: borrowing Directory, for use: Use
  ) throws(SystemError) -> (SharedDescriptor, isTaken: Bool)? {
    let writer = SharedDescriptor(try locks.openOrCreateFile(name))
    do throws(SystemError) {
      var file = SharedDescriptor(try locks.openChild(name))
      let isExclusive = use != .running
      let isTaken: Bool
      do throws(SystemError) {
        isTaken = try file.descriptor.lockOnceFree(exclusive: isExclusive)
      } catch  where error.isWrongDescriptor {
        // NFS.
        file = writer
        isTaken = try file.descriptor.lockOnceFree(exclusive: isExclusive)
      }
      guard isTaken else { return (file, false) }
      let inode = try locks.status(name).inode
      guard try writer.descriptor.status().inode == inode, try file.descriptor.status().inode == inode else {
        return nil
      }
      // The length of the longest use, so that lines of different uses never mix. A full disk must not
      // keep an app from being started, or an import from being undone.
      do throws(SystemError) {
        try writer.descriptor.write(at: 0, use.line.utf8.span)
      } catch  where error.isNoSpace {
        // The lock counts, and not its purpose.
      }
      return (file, true)
    } catch  where error.isNotFound {
      return nil
    }
  }

  /// The holder of an app's lock; nil if there is none. The query does not prevent other processes
  /// from taking it.
  static func holder(of identifier: String, in files: HomeFiles) throws(Failure) -> Holder? {
    guard let locks = try files.open(AppHome.Folder.locks.rawValue) else { return nil }
    func found() throws(SystemError) -> Holder? {
      do throws(SystemError) {
        let file = try locks.directory.openChild(identifier)
        return file.lockHolder() == nil ? nil : holder(file)
      } catch  where error.isNotFound {
        return nil
      }
    }
    return try Failure.wrapping(.failed, "cannot open \"\(files.path(place(identifier)))\"", found())
  }

  private static func holder(_ file: borrowing Descriptor) -> Holder {
    let word = (try? file.readAll(limit: 64)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    return Holder(use: Use.allCases.first { $0.line == word }, process: file.lockHolder() ?? 0)
  }

  private static func place(_ identifier: String) -> String { AppHome.Folder.locks.place(identifier) }
}

extension AppLock.Use {
  /// The text in the lock file while it is locked.
  fileprivate var line: String {
    let length = Self.allCases.map(\.rawValue.count).max() ?? 0
    return rawValue + String(repeating: " ", count: length - rawValue.count) + "\n"
  }
}

extension Failure {
  /// Another process uses an app's data.
  static func inUse(_ identifier: String, by holder: AppLock.Holder) -> Failure {
    inUse("app \(identifier)", holder, name: identifier)
  }

  /// Another process holds the lock of an app.
  fileprivate static func inUse(_ app: String, _ holder: AppLock.Holder, name: String) -> Failure {
    let process = holder.process > 0 ? " (process \(holder.process))" : ""
    let (clause, hint) =
      switch holder.use {
      case .running: ("the \(app) is running", "Close it first.")
      case .migrating: ("the data of \(name) is being migrated", "Wait until that is done.")
      case .installing: ("the \(app) is being installed", "Wait until that is done.")
      case .removing: ("the \(app) is being removed", "Wait until that is done.")
      case nil: ("the \(app) is in use", "Wait until that has ended.")
      }
    return Failure(.appInUse, clause + process, hint: hint, name: Array(name.utf8))
  }
}
