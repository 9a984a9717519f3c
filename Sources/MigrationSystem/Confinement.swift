import CSystem
import Glibc

/// The rights of a child process over files; it may have neither sockets nor child processes.
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
  /// Nil if nothing keeps it from that.
  package var attributeGuard = Confinement.usualGuard

  package init() {}

  package mutating func allow(_ access: Access, _ path: String, isOptional: Bool = false) {
    rules.append(Rule(path: path, access: access, isOptional: isOptional))
  }

  /// Prevents the calling thread, and the threads that it starts afterwards, permanently from
  /// creating, changing and removing items outside some directories. False if the kernel cannot.
  ///
  /// Not covered: permissions, owners, times and attributes of items outside, and open files.
  package static func keepWriting(within directories: [[UInt8]]) throws(SystemError) -> Bool {
    var pointers = unsafe directories.map { directory in
      unsafe (directory + [0]).withUnsafeBytes { bytes in
        unsafe UnsafePointer<CChar>(strdup(bytes.baseAddress!.assumingMemoryBound(to: CChar.self)))
      }
    }
    defer { for index in unsafe pointers.indices { unsafe free(UnsafeMutablePointer(mutating: pointers[index])) } }
    let result = unsafe pointers.withUnsafeMutableBufferPointer { buffer in
      unsafe csystem_confine_writing(buffer.baseAddress, buffer.count)
    }
    if result == -1 { throw SystemError(errno: errno, operation: "confine writing") }
    return result == 1
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

  private static var hasLandlock: Bool { csystem_landlock_version() > 0 }
}
