import CSystem
import Glibc

/// The rights of a process over files. A child's confinement also takes sockets and child processes.
package struct Confinement: Sendable {
  package enum Access: Sendable {
    case read
    /// Also start programs and load libraries.
    case execute
    /// Also change, create and remove.
    case write
  }

  /// One file, or the contents of one directory.
  package struct Rule: Sendable {
    package let path: String
    package let access: Access
    /// Whether the path may be missing.
    package let isOptional: Bool
  }

  /// The parts of a confinement that this kernel can enforce.
  package struct Strength: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Files, by Landlock.
    package static let files = Strength(rawValue: 1)
    /// Sockets and processes, by a filter of system calls.
    package static let calls = Strength(rawValue: 2)

    /// Metadata of files: modes, owners, times and extended attributes.
    package static let attributes = Strength(rawValue: 4)

    package static let full: Strength = [.files, .calls, .attributes]
  }

  /// How a process is kept from changing the metadata of files.
  package enum AttributeGuard: Sendable {
    /// This process makes the changes for it, in the directories that it may write to.
    case answers
    /// Private mounts, which are read-only except for one directory.
    case mounts

    /// The guards that this machine has.
    package static let possible: [AttributeGuard] =
      (csystem_can_answer() != 0 ? [.answers] : []) + (csystem_has_own_mounts() != 0 ? [.mounts] : [])
  }

  package private(set) var rules: [Rule] = []
  /// The only directory in which metadata can be changed, if private mounts guard it; nil for none.
  package var changeable: String?
  /// The guard that keeps the process from changing other metadata; nil if there is none.
  package var attributeGuard = Confinement.usualGuard

  package init() {}

  package mutating func allow(_ access: Access, _ path: String, isOptional: Bool = false) {
    rules.append(Rule(path: path, access: access, isOptional: isOptional))
  }

  /// Prevents the calling thread, and the threads that it starts afterwards, permanently from
  /// creating, changing and removing items outside some directories. False if the kernel cannot.
  ///
  /// Where the kernel can restrict that, they also signal only their own processes, and reach no
  /// socket of another program that has no path.
  ///
  /// Not covered: permissions, owners, times and attributes of items outside, and open files.
  package static func keepWriting(within directories: [[UInt8]]) throws(SystemError) -> Bool {
    var texts = CTexts()
    defer { extendLifetime(texts) }
    var pointers: [UnsafePointer<CChar>?] = unsafe directories.map { unsafe UnsafePointer(texts.add($0)) }
    let result = unsafe pointers.withUnsafeMutableBufferPointer { buffer in
      unsafe csystem_confine_writing(buffer.baseAddress, buffer.count)
    }
    if result == -1 { throw SystemError(errno: errno, operation: "confine writing") }
    return result == 1
  }

  /// Keeps the calling thread, and the threads and processes that it starts afterwards, permanently from
  /// other programs: from the sockets of this machine's services, from memory and objects of the kernel
  /// that others use, and from the input of the terminal. False if this machine cannot.
  ///
  /// - Parameter reachesServices: leaves it the sockets of services that have a path.
  package static func leaveOthers(reachesServices: Bool) throws(SystemError) -> Bool {
    try calling("confine calls") { csystem_leave_others(reachesServices ? 1 : 0) } == 1
  }

  /// The parts that this machine can enforce.
  package static let strength: Strength = {
    var strength: Strength = []
    if hasLandlock { strength.insert(.files) }
    if csystem_has_call_filter() != 0 { strength.insert(.calls) }
    if usualGuard != nil { strength.insert(.attributes) }
    return strength
  }()

  /// The guard of metadata on this machine. Without Landlock, private mounts come first: they also
  /// keep the process from writing to most files.
  package static let usualGuard: AttributeGuard? = {
    let possible = AttributeGuard.possible
    return hasLandlock ? possible.first : possible.last
  }()

  /// The version of Landlock in the kernel; nil if it has none.
  package static var landlockVersion: Int? {
    let version = Int(csystem_landlock_version())
    return version > 0 ? version : nil
  }

  private static var hasLandlock: Bool { landlockVersion != nil }
}

/// A restricted view of the files for a program that this process becomes: in one directory it sees
/// only its own items.
package struct FileView: Equatable, Sendable {
  /// An absolute path without links.
  package let directory: String
  /// Absolute paths in it, of existing directories and files.
  package let shown: [String]
  /// A directory outside of it that appears empty.
  package let hidden: [UInt8]?

  package init(of directory: String, showing shown: [String], hiding hidden: [UInt8]? = nil) {
    self.directory = directory
    self.shown = shown
    self.hidden = hidden
  }

  /// Tries in another process whether the view is possible here. Returns the error if it is not.
  package func trial() -> SystemError? {
    let error = unsafe calling { view in unsafe csystem_try_to_narrow(view) }
    return error == 0 ? nil : SystemError(errno: error, operation: Self.operation)
  }

  /// Applies the view permanently to this process, and to the programs that it becomes and starts:
  /// in the directory no other item is visible, and none can be created. The process enters the
  /// current directory again by its path, or else the root. It must have only one thread.
  package func apply() throws(SystemError) {
    try perform(Self.operation) { unsafe calling { view in unsafe csystem_narrow(view) } }
  }

  private static let operation = "give a program private mounts"

  private func calling(_ body: (UnsafePointer<csystem_view>) -> CInt) -> CInt {
    var texts = CTexts()
    defer { extendLifetime(texts) }
    let pointers = unsafe texts.list(
      shown.map { Array($0.utf8) } + [Array(directory.utf8)] + (hidden.map { [$0] } ?? [])
    ).map { unsafe UnsafePointer($0) }
    return unsafe pointers.withUnsafeBufferPointer { pointers in
      // A null pointer follows the last text.
      var view = unsafe csystem_view(
        directory: pointers[shown.count], shown: pointers.baseAddress, shown_count: shown.count,
        hidden: pointers[shown.count + 1])
      return unsafe body(&view)
    }
  }
}

/// Finds out in a thread of its own how a confinement of writing would affect some directories, before
/// the whole process is confined permanently.
///
/// The kernel identifies a rule's directory by its inode in memory. A file system that creates a
/// new inode for each lookup, as 9p does, soon loses the rule, and then every operation in the
/// directory is refused.
package enum ConfinementTrial {
  /// How long a disk may take for a trial.
  private static let patience = Duration.seconds(10)

  /// The directories that are usable, and not from a thread that may write only within the given ones;
  /// none if that cannot be tried in time. Leaves no files behind.
  package static func refused(within rules: [[UInt8]], of directories: [[UInt8]]) -> [[UInt8]] {
    let failed = inTime {
      (try? Confinement.keepWriting(within: rules)) == true ? directories.filter { !isUsable($0) } : []
    }
    // A failure that also happens without the confinement has another cause.
    return failed.isEmpty ? [] : inTime { failed.filter(isUsable) }
  }

  /// What a thread of its own finds; nothing if that takes too long. A thread that waits for a disk
  /// keeps its process from nothing.
  private static func inTime(_ body: @escaping @Sendable () -> [[UInt8]]) -> [[UInt8]] {
    let found = Condition<[[UInt8]]?>(nil)
    let thread = try? OwnerThread(name: "trial") {
      let result = body()
      found.withLock { $0 = result }
      found.broadcast()
    }
    guard let thread, let result = found.wait(until: .now().advanced(by: patience), { $0 }) else { return [] }
    thread.join()
    return result
  }

  /// Performs a receiver's operations in a directory, under a name that is removed afterwards.
  private static func isUsable(_ path: [UInt8]) -> Bool {
    let name = ".peer-trial-\(CurrentProcess.id)"
    // An earlier trial may have been interrupted, or kept from removing it.
    defer { try? Directory.open(path).removeTree(name) }
    do throws(SystemError) {
      try Directory.open(path).removeTree(ifThere: name)
      try Directory.open(path).makeDirectory(name)
      let place = try Directory.open(path).openChildDirectory(name)
      try place.makeDirectory("directory")
      let file = try place.createFile("file")
      try file.write(at: 0, [0x78].span)
      try file.synchronize()
      try place.rename("file", to: place, as: "renamed", noReplace: false)
      let inner = try place.openChildDirectory("directory")
      try place.rename("renamed", to: inner, as: "moved", noReplace: false)
      try inner.remove("moved")
      try place.removeDirectory("directory")
      try Directory.open(path).removeDirectory(name)
      return true
    } catch {
      return false
    }
  }
}
