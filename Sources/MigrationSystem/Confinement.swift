import CSystem
import Glibc

/// What a child process may do with files, and that it may have neither sockets nor processes of its own.
package struct Confinement: Sendable {
  package enum Access: Sendable {
    case read
    /// Also start programs and load libraries.
    case execute
    /// Also change, make and remove.
    case write
  }

  /// One file, or everything in one directory.
  package struct Rule: Sendable {
    package let path: String
    package let access: Access
    /// Whether nothing need be there.
    package let isOptional: Bool
  }

  /// How far this kernel can keep it.
  package struct Strength: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Files, by Landlock.
    package static let files = Strength(rawValue: 1)
    /// Sockets and processes, by a filter of system calls.
    package static let calls = Strength(rawValue: 2)

    /// What files are like besides their content: modes, owners and times, by mounts of its own.
    package static let attributes = Strength(rawValue: 4)

    package static let full: Strength = [.files, .calls, .attributes]
  }

  package private(set) var rules: [Rule] = []
  /// Modes, owners and times can be changed in this directory only; nil for nowhere.
  package var changeable: String?

  package init() {}

  package mutating func allow(_ access: Access, _ path: String, isOptional: Bool = false) {
    rules.append(Rule(path: path, access: access, isOptional: isOptional))
  }

  /// Keeps the calling thread, and those that it starts from now on, from creating, changing and removing anything outside of
  /// some directories, for good. False where the kernel cannot.
  ///
  /// What it does not cover: rights, owners, times and attributes of what is outside, and what is open already.
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

  /// What this machine can do.
  package static let strength: Strength = {
    var strength: Strength = []
    if csystem_landlock_version() > 0 { strength.insert(.files) }
    if csystem_has_call_filter() != 0 { strength.insert(.calls) }
    if csystem_has_own_mounts() != 0 { strength.insert(.attributes) }
    return strength
  }()
}
