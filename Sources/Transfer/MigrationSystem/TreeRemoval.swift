import CSystem
import Glibc

extension Directory {
  /// Removes a name and, if it is a directory, its contents.
  ///
  /// Links are removed, never followed. Directories that their owner may not read or change are
  /// made accessible first. Depth and path lengths do not matter, and the removal uses only two
  /// descriptors. Another file system mounted in the tree is not touched: EXDEV.
  package func removeTree(_ name: some PathBytes & ~Escapable) throws(SystemError) {
    do {
      try remove(name)
    } catch let error where error.errno == EISDIR {
      let bytes = try unsafe name.withPathBytes { (bytes) throws(SystemError) in unsafe Array(bytes) }
      var removal = TreeRemoval(in: try duplicate(), status: try status())
      try removal.run(bytes)
    }
  }

  /// The same; a missing name is fine.
  package func removeTree(ifThere name: some PathBytes & ~Escapable) throws(SystemError) {
    do {
      try removeTree(name)
    } catch  where error.isNotFound {
      // It was removed before, or never existed.
    }
  }

  /// Removes everything in this directory, the named entry last.
  package func removeContents(last: [UInt8]) throws(SystemError) {
    for name in try names() where name != last { try removeTree(ifThere: name) }
    try removeTree(ifThere: last)
  }

  /// The removal of one tree, in a loop instead of a recursion.
  ///
  /// Only the current directory is open. The way back up is "..", and it counts only if it leads to
  /// the directory from which the removal came: if a directory has been moved meanwhile, items
  /// elsewhere are not removed.
  private struct TreeRemoval: ~Copyable {
    /// A process that keeps adding names cannot prolong the removal without limit.
    private static let mostPasses = 16

    private struct Level {
      let name: [UInt8]
      let device: UInt64
      let inode: UInt64
      var passes = 1
      /// The directories in this one that remain to be removed.
      var pending: [[UInt8]] = []
    }

    /// The parent of the first level, by device and inode.
    private let device: UInt64
    private let inode: UInt64
    /// The names from the tree's root to `current`.
    private var levels: [Level] = []
    private var current: Directory

    /// Starts in the parent directory of the tree.
    init(in parent: consuming Directory, status: FileStatus) {
      device = status.device
      inode = status.inode
      current = parent
    }

    mutating func run(_ name: [UInt8]) throws(SystemError) {
      try descend(to: name, passes: 1)
      while !levels.isEmpty {
        if let child = levels[levels.count - 1].pending.popLast() {
          try descend(to: child, passes: 1)
        } else {
          try ascend()
        }
      }
    }

    private mutating func descend(to name: [UInt8], passes: Int) throws(SystemError) {
      let child = try Self.enter(name, in: current)
      var level = try Self.level(name, child)
      level.passes = passes
      guard level.device == levels.first?.device ?? level.device else {
        throw SystemError(errno: EXDEV, operation: "remove", subject: name.escapedText)
      }
      levels.append(level)
      current = child
      try sweep()
    }

    /// Leaves the current directory, and removes it unless another process has added entries
    /// meanwhile.
    private mutating func ascend() throws(SystemError) {
      let left = levels.removeLast()
      let parent = try openParent()
      current = parent
      do {
        try current.removeDirectory(left.name)
      } catch let error where error.isNotFound {
        // Another process has added an entry.
      } catch let error where error.isNotEmpty && left.passes < Self.mostPasses {
        try descend(to: left.name, passes: left.passes + 1)
      }
    }

    private func openParent() throws(SystemError) -> Directory {
      let raw = try calling("remove") { unsafe openat(current.raw, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
      let parent = Directory(owning: Descriptor(owning: raw))
      let status = try parent.status()
      guard status.device == levels.last?.device ?? device, status.inode == levels.last?.inode ?? inode else {
        throw SystemError(reason: "a directory was moved meanwhile", operation: "remove")
      }
      return parent
    }

    /// Removes all entries of the current directory except directories, and records the directories.
    private mutating func sweep() throws(SystemError) {
      var found: [[UInt8]] = []
      try current.forEachEntry { (name, entryKind) throws(SystemError) in
        var kind = entryKind
        do throws(SystemError) {
          if kind != .directory { try current.remove(name) }
        } catch let error where error.isNotFound {
          // Another process has removed it first.
          return true
        } catch let error where error.errno == EISDIR {
          // The file system did not report the type, or the entry was replaced just now.
          kind = .directory
        }
        if kind == .directory {
          found.append(try unsafe name.withPathBytes { (bytes) throws(SystemError) in unsafe Array(bytes) })
        }
        return true
      }
      levels[levels.count - 1].pending = found
    }

    private static func level(_ name: [UInt8], _ directory: borrowing Directory) throws(SystemError) -> Level {
      let status = try directory.status()
      // A failure shows in the first operation that needs the permission.
      if status.mode & 0o700 != 0o700 { try? directory.descriptor.setMode(status.mode | 0o700) }
      return Level(name: name, device: status.device, inode: status.inode)
    }

    private static func enter(_ name: [UInt8], in parent: borrowing Directory) throws(SystemError) -> Directory {
      do {
        return try parent.openChildDirectory(name)
      } catch let error where error.errno == EACCES {
        try parent.setMode(name, 0o700)
        return try parent.openChildDirectory(name)
      }
    }
  }
}
