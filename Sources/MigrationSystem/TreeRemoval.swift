import CSystem
import Glibc

extension Directory {
  /// Removes a name and, if it is a directory, everything beneath it.
  ///
  /// Links are removed, never followed. Directories that their owner may not read or change are made
  /// changeable first. Depth and path lengths do not matter, and two descriptors are all that it takes.
  /// Another file system mounted in the tree is left alone: EXDEV.
  package func removeTree(_ name: some PathBytes & ~Escapable) throws(SystemError) {
    do {
      try remove(name)
    } catch let error where error.errno == EISDIR {
      let bytes = try unsafe name.withPathBytes { (bytes) throws(SystemError) in unsafe Array(bytes) }
      var removal = TreeRemoval(in: try duplicate(), status: try status())
      try removal.run(bytes)
    }
  }

  /// The same, and content if there is nothing.
  package func removeTree(ifThere name: some PathBytes & ~Escapable) throws(SystemError) {
    do {
      try removeTree(name)
    } catch  where error.isNotFound {
      // It went before, or never was.
    }
  }
}

/// The removal of one tree, in a loop instead of a recursion.
///
/// Only the directory being emptied is open. The way back up is "..", and counts only if it leads to the
/// directory that was come from: one that has been moved elsewhere meanwhile takes nothing else with it.
private struct TreeRemoval: ~Copyable {
  /// Somebody who keeps adding names cannot keep the removal from ending.
  private static let mostPasses = 16

  private struct Level {
    let name: [UInt8]
    let device: UInt64
    let inode: UInt64
    var passes = 1
    /// The directories that are still to be removed from this one.
    var pending: [[UInt8]] = []
  }

  /// The parent of the first level.
  private let device: UInt64
  private let inode: UInt64
  /// The open directories' chain of names, from the tree's root to `current`.
  private var levels: [Level] = []
  private var current: Directory

  /// Starts in the directory that holds the tree.
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

  /// Leaves the current directory, and removes it unless something has been added to it meanwhile.
  private mutating func ascend() throws(SystemError) {
    let left = levels.removeLast()
    let parent = try openParent()
    current = parent
    do {
      try current.removeDirectory(left.name)
    } catch let error where error.isNotFound {
      // Somebody else was faster.
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

  /// Removes what is no directory from the current one, and notes the directories.
  private mutating func sweep() throws(SystemError) {
    var found: [[UInt8]] = []
    try current.forEachEntry { (name, entryKind) throws(SystemError) in
      var kind = entryKind
      do throws(SystemError) {
        if kind != .directory { try current.remove(name) }
      } catch let error where error.isNotFound {
        // Somebody else was faster.
        return true
      } catch let error where error.errno == EISDIR {
        // The file system did not tell, or it was exchanged just now.
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
    // A failure shows in the first thing that needs the right.
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
